#include "serve/server/together.h"

#include <algorithm>
#include <utility>

#include "base/byte_size.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

constexpr std::chrono::seconds kWaitForOthers{60};
// Of one run, for members that are behind.
constexpr uint64_t kKeptBytes = 256 * kMiB;
constexpr size_t kFewestSteps = 2, kMostSteps = 16;

uint64_t nbytes(const Batch& batch) {
  uint64_t bytes = 0;
  for (const BatchField& field : batch.fields)
    bytes += field.values.buffer.size() + field.offsets.buffer.size() + field.string_offsets.buffer.size();
  return bytes;
}

}  // namespace

TogetherRun::TogetherRun(std::unique_ptr<Loader> loader, int wanted, std::chrono::milliseconds patience)
    : loader_(std::move(loader)), wanted_(wanted), patience_(patience), state_(loader_->state()) {}

bool TogetherRun::sit(Seat& seat, const std::string& state) {
  const std::lock_guard lock(mutex_);
  if (over_) return false;
  const auto begins = std::ranges::find_if(steps_, [&](const StepPtr& step) { return step->before == state; });
  if (begins == steps_.end() && state_ != state) return false;
  seat = {first_ + static_cast<uint64_t>(begins - steps_.begin()), false};
  seats_.push_back(&seat);
  changed_.notify_all();
  return true;
}

void TogetherRun::leave(Seat& seat) {
  const std::lock_guard lock(mutex_);
  std::erase(seats_, &seat);
  seat.lost = true;
  // Perhaps it was this one that waited. If others do, they are back at once.
  for (Seat* other : seats_) other->waited_for.end(Clock::now());
  changed_.notify_all();
}

bool TogetherRun::waits_for_others(Clock::time_point now) {
  if (begun_ || static_cast<int>(seats_.size()) >= wanted_) return false;
  if (now - opened_ < kWaitForOthers) return true;
  log_warning("together: not all whom it waits for came within a minute; the others go on without them");
  begun_ = true;
  return false;
}

// Whether the next step has to wait for whoever still needs the first one that is kept. They lose their seats in time.
bool TogetherRun::held_up(Clock::time_point now) {
  if (steps_.size() < window_) return false;
  bool waits = false;
  for (Seat* seat : seats_) {
    if (seat->next != first_) continue;
    seat->waited_for.begin(now);
    // Its feed notices with its next take(), and goes on in a run of its own.
    seat->lost = seat->waited_for.until(now) >= patience_;
    waits = waits || !seat->lost;
  }
  std::erase_if(seats_, [](const Seat* seat) { return seat->lost; });
  return waits;
}

void TogetherRun::keep(Step step) {
  // By the first batch: all of a run are about as large.
  if (step.batch.ok() && counts_.made++ == 0)
    window_ = std::clamp<size_t>(kKeptBytes / std::max<uint64_t>(nbytes(*step.batch), 1), kFewestSteps, kMostSteps);
  while (steps_.size() >= window_) {
    steps_.pop_front();
    ++first_;
  }
  steps_.push_back(std::make_shared<const Step>(std::move(step)));
}

// One step, if it comes in time. Without the lock meanwhile: others take what is there.
Status TogetherRun::make(Lock& lock, std::chrono::milliseconds timeout) {
  making_ = begun_ = true;
  lock.unlock();
  loader_->begin_iteration();  // ends of epochs are told by each client's own position
  bool timed_out = false;
  Result<std::optional<Batch>> made = loader_->next_for(timeout, &timed_out);
  // Without the lock as well: one thread at a time makes, and the loader is asked by it alone.
  std::string after = timed_out ? std::string() : loader_->state();
  lock.lock();
  making_ = false;
  changed_.notify_all();
  if (timed_out) return {};
  // An error that leaves it where it is (closed, no storage) is no step. One in a step's place is, and all get it.
  if (!made.ok() && after == state_) return made.status();
  if (made.ok() && !made->has_value()) {
    over_ = true;  // the last epoch is over, or there is nothing in one: what that means each position says itself
    return {};
  }
  keep({made.ok() ? Result<Batch>(std::move(**made)) : Result<Batch>(made.status()), std::move(state_), after});
  state_ = std::move(after);
  return {};
}

Result<TogetherRun::StepPtr> TogetherRun::take(Seat& seat, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  Lock lock(mutex_);
  while (!seat.lost) {
    if (seat.next < first_ + steps_.size()) {
      StepPtr step = steps_[seat.next++ - first_];
      seat.waited_for.end(Clock::now());
      ++counts_.given;
      changed_.notify_all();
      return step;
    }
    if (over_) {
      std::erase(seats_, &seat);
      seat.lost = true;
      break;
    }
    const auto now = Clock::now();
    if (now >= deadline) break;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
    if (making_ || waits_for_others(now) || held_up(now)) {
      // In pieces: time alone ends waits_for_others() and held_up().
      changed_.wait_for(lock, std::min(left, std::chrono::milliseconds(50)));
    } else {
      FOREBAY_RETURN_IF_ERROR(make(lock, left));
    }
  }
  return StepPtr();
}

bool TogetherRun::seated(const Seat& seat) const {
  const std::lock_guard lock(mutex_);
  return !seat.lost;
}

size_t TogetherRun::seats() const {
  const std::lock_guard lock(mutex_);
  return seats_.size();
}

bool TogetherRun::over() const {
  const std::lock_guard lock(mutex_);
  return over_;
}

TogetherCounts TogetherRun::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void TogetherRun::close() { loader_->close(); }

Result<std::shared_ptr<TogetherRun>> TogetherRuns::join(const std::string& key, const std::string& state, int wanted,
                                                        TogetherRun::Seat& seat, const Open& open,
                                                        const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  // Whoever comes while one opens waits for that one; those of other keys do not.
  if (!opened_.wait(lock, stop, [&] { return !opening_.contains(key); })) return cancelled("the loader was closed");
  const auto [begin, end] = runs_.equal_range(key);
  for (auto run = begin; run != end; ++run) {
    if (run->second->sit(seat, state)) return run->second;
  }
  const int seats = begin == end ? wanted : 1;
  opening_.insert(key);
  lock.unlock();
  Result<std::shared_ptr<TogetherRun>> made = opened_at(state, seats, open, stop);
  if (made.ok() && !(*made)->sit(seat, state)) made = internal_error("a run does not begin where it was told to");
  lock.lock();
  opening_.erase(key);
  opened_.notify_all();
  if (made.ok()) runs_.emplace(key, *made);
  return made;
}

Result<std::shared_ptr<TogetherRun>> TogetherRuns::opened_at(const std::string& state, int seats, const Open& open,
                                                             const std::stop_token& stop) const {
  FOREBAY_ASSIGN(std::unique_ptr<Loader> loader, open(stop));
  FOREBAY_RETURN_IF_ERROR(loader->load_state(state));
  return std::make_shared<TogetherRun>(std::move(loader), seats, patience_);
}

std::shared_ptr<TogetherRun> TogetherRuns::other(const std::string& key, const TogetherRun* own,
                                                 const std::string& state, TogetherRun::Seat& seat) {
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = runs_.equal_range(key);
  for (auto run = begin; run != end; ++run) {
    if (run->second.get() != own && run->second->sit(seat, state)) return run->second;
  }
  return nullptr;
}

void TogetherRuns::left(const std::string& key, const std::shared_ptr<TogetherRun>& run) {
  {
    const std::lock_guard lock(mutex_);
    if (run->seats() > 0) return;
    const auto [begin, end] = runs_.equal_range(key);
    const auto found = std::find_if(begin, end, [&](const auto& each) { return each.second == run; });
    if (found == end) return;
    const TogetherCounts counts = run->counts();
    ended_.made += counts.made;
    ended_.given += counts.given;
    runs_.erase(found);
  }
  run->close();  // takes a while
}

TogetherCounts TogetherRuns::counts() const {
  const std::lock_guard lock(mutex_);
  TogetherCounts sum = ended_;
  for (const auto& [key, run] : runs_) {
    const TogetherCounts counts = run->counts();
    sum.made += counts.made;
    sum.given += counts.given;
  }
  return sum;
}

}  // namespace forebay
