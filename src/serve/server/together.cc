#include "serve/server/together.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "serve/wire/portable_object.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

constexpr std::chrono::seconds kWaitForOthers{60};
// Most bytes of steps that one run retains for late members.
constexpr uint64_t kRetainedBytes = 256 * kMiB;
constexpr size_t kFewestSteps = 2, kMostSteps = 16;

uint64_t nbytes(const Batch& batch) {
  uint64_t bytes = 0;
  for (const BatchField& field : batch.fields)
    bytes += field.values.buffer.size() + field.offsets.buffer.size() + field.string_offsets.buffer.size();
  // In a server every object is portable.
  if (batch.object) bytes += static_cast<const PortableObject*>(batch.object.get())->bytes.nbytes();
  return bytes;
}

Status unlike_functions(const TogetherKey& key, const TogetherKey& other) {
  const auto [ours, theirs] = std::ranges::mismatch(key.functions, other.functions);
  const std::string& function = ours != key.functions.end() ? *ours : *theirs;
  return {Code::kStateMismatch,
          fmt::format("together=: two groups lack loaders after a minute, and {} is not the same function in both: its "
                      "code differs, or a value that it refers to (a rank, a device, a time). Give all loaders of a "
                      "group equal functions, or leave together= out",
                      function.substr(0, function.rfind(' ')))};
}

}  // namespace

TogetherRun::TogetherRun(std::shared_ptr<Loader> loader, int group_size, std::chrono::milliseconds patience,
                         WaitClock& clock, OnIncomplete on_incomplete)
    : loader_(std::move(loader)), group_size_(group_size), patience_(patience), clock_(clock),
      on_incomplete_(std::move(on_incomplete)), opened_(clock.now()), state_(loader_->state()) {}

bool TogetherRun::take_seat(Seat& seat, const std::string& state) {
  const Lock lock(mutex_);
  if (over_) return false;
  const auto begins = std::ranges::find_if(steps_, [&](const StepPtr& step) { return step->before == state; });
  if (begins == steps_.end() && state_ != state) return false;
  seat = {first_ + static_cast<uint64_t>(begins - steps_.begin()), false};
  seats_.push_back(&seat);
  changed_.notify_all();
  return true;
}

void TogetherRun::leave(Seat& seat) {
  const Lock lock(mutex_);
  std::erase(seats_, &seat);
  seat.lost = true;
  // This client may have been the one that waited. If others wait as well, they begin again at
  // once.
  for (Seat* other : seats_) other->lateness.end_wait(clock_.now());
  changed_.notify_all();
}

// Whether the first step waits for clients that have no seat yet.
bool TogetherRun::awaits_seats() const { return !begun_ && static_cast<int>(seats_.size()) < group_size_; }

// Whether the wait for seats has taken its minute.
bool TogetherRun::overdue(WaitClock::TimePoint now) const { return awaits_seats() && now - opened_ >= kWaitForOthers; }

// Ends that wait. Releases the lock meanwhile, since the answer to whether this run is refused lies
// with all runs.
void TogetherRun::begin_incomplete(Lock& lock) {
  {
    const Unlock unlocked(lock, mutex_);
    on_incomplete_();
  }
  if (!refused_.ok() || !awaits_seats()) return;
  log_warning("together: not all whom it waits for came within a minute; the others go on without them");
  begun_ = true;
}

// Whether the next step waits for a client that still needs the oldest retained step.
bool TogetherRun::awaits_late_client() const {
  return steps_.size() >= window_ &&
         std::ranges::any_of(seats_, [&](const Seat* seat) FOREBAY_REQUIRES(mutex_) { return seat->next == first_; });
}

// Revokes the seats of clients for which the run has waited too long.
void TogetherRun::revoke_late_seats(WaitClock::TimePoint now) {
  if (!awaits_late_client()) return;
  for (Seat* seat : seats_) {
    if (seat->next != first_) continue;
    seat->lateness.begin_wait(now);
    // The client's feed notices this in its next next_step() and continues in another run.
    seat->lost = seat->lateness.total(now) >= patience_;
  }
  std::erase_if(seats_, [](const Seat* seat) { return seat->lost; });
}

void TogetherRun::retain(Step step) {
  // The first batch determines the window, since all batches of a run have about the same size.
  if (step.batch.ok() && counts_.computed++ == 0)
    window_ = std::clamp<size_t>(kRetainedBytes / std::max<uint64_t>(nbytes(*step.batch), 1), kFewestSteps, kMostSteps);
  while (steps_.size() >= window_) {
    steps_.pop_front();
    ++first_;
  }
  steps_.push_back(std::make_shared<const Step>(std::move(step)));
}

// Computes one step, if that succeeds in time. Releases the lock meanwhile, so that other clients
// can take retained steps.
Status TogetherRun::compute_step(Lock& lock, std::chrono::milliseconds timeout) {
  computing_ = begun_ = true;
  bool timed_out = false;
  std::optional<Result<std::optional<Batch>>> next;
  std::string after;
  {
    const Unlock unlocked(lock, mutex_);
    loader_->begin_iteration();  // each client's own position reports the ends of epochs
    next = loader_->next_for(timeout, &timed_out);
    // Without the lock as well: only the thread that computes a step uses the loader.
    if (!timed_out) after = loader_->state();
  }
  Result<std::optional<Batch>>& made = *next;
  computing_ = false;
  changed_.notify_all();
  if (timed_out) return {};
  // An error that leaves the loader where it is (closed, no storage) is not a step. An error in
  // place of a step is, and all clients get it.
  if (!made.ok() && after == state_) return made.status();
  if (made.ok() && !made->has_value()) {
    // The last epoch is over, or an epoch is empty; each client's position tells which.
    over_ = true;
    return {};
  }
  retain({made.ok() ? Result<Batch>(std::move(**made)) : Result<Batch>(made.status()), std::move(state_), after});
  state_ = std::move(after);
  return {};
}

// Returns the next step of a seat if it has been computed, or null.
TogetherRun::StepPtr TogetherRun::retained_step(Seat& seat) {
  if (seat.next >= first_ + steps_.size()) return nullptr;
  StepPtr step = steps_[seat.next++ - first_];
  seat.lateness.end_wait(clock_.now());
  ++counts_.delivered;
  changed_.notify_all();
  return step;
}

Result<TogetherRun::StepPtr> TogetherRun::next_step(Seat& seat, std::chrono::milliseconds timeout) {
  const auto deadline = clock_.now() + timeout;
  Lock lock(mutex_);
  while (!seat.lost) {
    if (!refused_.ok()) return refused_;
    if (StepPtr step = retained_step(seat)) return step;
    if (over_) {
      std::erase(seats_, &seat);
      seat.lost = true;
      break;
    }
    const auto now = clock_.now();
    if (now >= deadline) break;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
    if (overdue(now)) {
      begin_incomplete(lock);
      continue;
    }
    if (!computing_) revoke_late_seats(now);
    if (computing_ || awaits_seats() || awaits_late_client()) {
      // Short waits, because the last two conditions also end by time alone.
      changed_.wait_for(lock, clock_.begin_wait(std::min(left, std::chrono::milliseconds(50))));
    } else {
      FOREBAY_RETURN_IF_ERROR(compute_step(lock, left));
    }
  }
  return StepPtr();
}

bool TogetherRun::seated(const Seat& seat) const {
  const Lock lock(mutex_);
  return !seat.lost;
}

size_t TogetherRun::seats() const {
  const Lock lock(mutex_);
  return seats_.size();
}

bool TogetherRun::awaits_group() const {
  const Lock lock(mutex_);
  return awaits_seats();
}

bool TogetherRun::refuse(const Status& why) {
  const Lock lock(mutex_);
  if (!awaits_seats()) return false;
  refused_ = why;
  changed_.notify_all();
  return true;
}

bool TogetherRun::over() const {
  const Lock lock(mutex_);
  return over_;
}

TogetherCounts TogetherRun::counts() const {
  const Lock lock(mutex_);
  return counts_;
}

void TogetherRun::close() { loader_->close(); }

Result<std::shared_ptr<TogetherRun>> TogetherRuns::join(const TogetherKey& key, const std::string& state,
                                                        int group_size, TogetherRun::Seat& seat, const Open& open,
                                                        const std::stop_token& stop) {
  Lock lock(mutex_);
  // A client waits while another one opens a run of the same key. Other keys do not wait.
  if (!opened_.wait(lock, stop, [&]() FOREBAY_REQUIRES(mutex_) { return !opening_.contains(key); }))
    return cancelled("the loader was closed");
  const auto [begin, end] = runs_.equal_range(key);
  for (auto run = begin; run != end; ++run) {
    if (run->second->take_seat(seat, state)) return run->second;
  }
  const int seats = begin == end ? group_size : 1;
  opening_.insert(key);
  lock.unlock();
  Result<std::shared_ptr<TogetherRun>> made = open_at(key, state, seats, open, stop);
  if (made.ok() && !(*made)->take_seat(seat, state)) made = internal_error("a run does not begin where it was told to");
  lock.lock();
  opening_.erase(key);
  opened_.notify_all();
  if (!made.ok()) return made;
  runs_.emplace(key, *made);
  return made;
}

// Loaders of a group have equal functions. Loaders with unlike ones wait for each other in two runs,
// of which neither gets all its clients. Refused runs are forgotten, so that clients that come again
// are a new group.
void TogetherRuns::refuse_unlike(const TogetherKey& key) {
  const Lock lock(mutex_);
  const auto [begin, end] = runs_.equal_range(key);
  // The last client may have come at this moment.
  if (std::none_of(begin, end, [](const auto& each) { return each.second->awaits_group(); })) return;
  const auto waits = [&](const auto& each) { return each.first.batches == key.batches && each.second->awaits_group(); };
  const auto other = std::ranges::find_if(
      runs_, [&](const auto& each) { return each.first.functions != key.functions && waits(each); });
  if (other == runs_.end()) return;
  const Status why = unlike_functions(key, other->first);
  std::erase_if(runs_, [&](const auto& each) { return waits(each) && each.second->refuse(why); });
}

Result<std::shared_ptr<TogetherRun>> TogetherRuns::open_at(const TogetherKey& key, const std::string& state, int seats,
                                                           const Open& open, const std::stop_token& stop) {
  FOREBAY_ASSIGN(std::shared_ptr<Loader> loader, open(stop));
  FOREBAY_RETURN_IF_ERROR(loader->load_state(state));
  return std::make_shared<TogetherRun>(std::move(loader), seats, patience_, clock_,
                                       [this, key] { refuse_unlike(key); });
}

std::shared_ptr<TogetherRun> TogetherRuns::join_other(const TogetherKey& key, const TogetherRun* own,
                                                      const std::string& state, TogetherRun::Seat& seat) {
  const Lock lock(mutex_);
  const auto [begin, end] = runs_.equal_range(key);
  for (auto run = begin; run != end; ++run) {
    if (run->second.get() != own && run->second->take_seat(seat, state)) return run->second;
  }
  return nullptr;
}

void TogetherRuns::release(const TogetherKey& key, const std::shared_ptr<TogetherRun>& run) {
  {
    const Lock lock(mutex_);
    if (run->seats() > 0) return;
    const auto [begin, end] = runs_.equal_range(key);
    const auto found = std::find_if(begin, end, [&](const auto& each) { return each.second == run; });
    if (found == end) return;
    const TogetherCounts counts = run->counts();
    ended_.computed += counts.computed;
    ended_.delivered += counts.delivered;
    runs_.erase(found);
  }
  run->close();  // without the lock, because it takes a while
}

std::shared_ptr<PassResults> TogetherRuns::passes(const TogetherKey& key) {
  const Lock lock(mutex_);
  std::erase_if(passes_, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<PassResults>& known = passes_[key];
  std::shared_ptr<PassResults> passes = known.lock();
  if (!passes) known = passes = std::make_shared<PassResults>();
  return passes;
}

TogetherCounts TogetherRuns::counts() const {
  const Lock lock(mutex_);
  TogetherCounts sum = ended_;
  for (const auto& [key, run] : runs_) {
    const TogetherCounts counts = run->counts();
    sum.computed += counts.computed;
    sum.delivered += counts.delivered;
  }
  return sum;
}

}  // namespace forebay
