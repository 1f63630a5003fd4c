#include "stream/ranks/record_exchange.h"

#include <algorithm>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "stream/ranks/request_pauses.h"

namespace forebay {

namespace {

constexpr std::chrono::seconds kSlowerRankPatience{10};  // with a rank that is some steps slower
// A request that failed after this time may have been too large: the next one has a quarter of it.
constexpr std::chrono::milliseconds kSlowRequest{500};
constexpr size_t kShrinkFactor = 4;

}  // namespace

RecordExchange::RecordExchange(AwaitedRecords& records, Ask ask, const StreamClock& clock)
    : records_(records), ask_(std::move(ask)), clock_(clock),
      thread_([this](const std::stop_token& stop) { run_fetches(stop); }) {}

void RecordExchange::start_fetch(std::span<const int64_t> numbers) {
  if (numbers.empty()) return;
  const Lock lock(mutex_);
  for (const int64_t number : numbers) wanted_.emplace(number, clock_.now());
  changed_.notify_all();
}

void RecordExchange::begin_run() {
  const Lock lock(mutex_);
  ++run_;
  wanted_.clear();
  failure_ = {};
}

void RecordExchange::close() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

Status RecordExchange::failure() const {
  const Lock lock(mutex_);
  return failure_;
}

std::string RecordExchange::awaited() const {
  const Lock lock(mutex_);
  if (wanted_.empty()) return {};
  return fmt::format("{} record{}, of which rank {} has the first", wanted_.size(), wanted_.size() == 1 ? "" : "s",
                     records_.owner(wanted_.begin()->first));
}

RecordExchange::Stats RecordExchange::stats() const {
  const Lock lock(mutex_);
  return stats_;
}

void RecordExchange::run_fetches(const std::stop_token& stop) {
  auto pause = kShortestPause;
  Lock lock(mutex_);
  while (changed_.wait(lock, stop, [&]() FOREBAY_REQUIRES(mutex_) { return !wanted_.empty() && failure_.ok(); })) {
    const uint64_t run = run_;
    // If begin_run() is called while the lock is released, the results belong to a run that is
    // over.
    PendingByOwner pending = next_by_owner();
    lock.unlock();
    // Done without the lock: a request takes up to a second, reading one record again up to half a
    // minute.
    Status failure;
    try {
      failure = fetch(pending, stop);
    } catch (const std::bad_alloc&) {  // an error of the run, and not the end of the process
      failure = out_of_budget("the system has no memory left for records of other ranks; lower memory=", 0);
    }
    lock.lock();
    if (stop.stop_requested()) return;
    if (run != run_) continue;
    failure_ = failure;
    if (finish_arrived(pending) || !failure.ok()) {
      pause = kShortestPause;
      lock.unlock();
      arrived_();
      lock.lock();
    } else {
      changed_.wait_for(lock, stop, pause, [] { return false; });
      pause = std::min(2 * pause, kLongestPause);
    }
  }
}

// Returns the error of a record that cannot be fetched from anywhere.
Status RecordExchange::fetch(PendingByOwner& pending, const std::stop_token& stop) {
  Status failure;
  for (auto& [owner, records] : pending) {
    if (owner == records_.own_rank()) {
      read_disk(records);
    } else {
      ask_owner(owner, records, stop);
    }
    for (Pending& record : records)
      if (failure.ok() && record.outcome == Outcome::kUnknown) failure = fetch_without_owner(record, stop);
  }
  return failure;
}

// Returns the records to request now: of each owner, as many as one request may have.
RecordExchange::PendingByOwner RecordExchange::next_by_owner() {
  PendingByOwner by_owner;
  for (const auto& [number, since] : wanted_) {
    std::vector<Pending>& records = by_owner[records_.owner(number)];
    if (records.size() < owners_[records_.owner(number)].max_records) records.push_back({number, since});
  }
  return by_owner;
}

void RecordExchange::read_disk(std::vector<Pending>& records) {
  for (Pending& record : records)
    if (records_.read_from_disk(record.number).ok()) record.outcome = Outcome::kFromDisk;
}

void RecordExchange::ask_owner(int owner, std::vector<Pending>& records, const std::stop_token& stop) {
  auto& [health, max_records] = owners_[owner];
  // A rank that failed is backed off (PeerHealth): its records are read again from the log
  // meanwhile.
  if (!health.try_begin(clock_.now().time_since_epoch())) return;
  std::vector<int64_t> numbers;
  for (const Pending& record : records) numbers.push_back(record.number);
  const Time asked = clock_.now();
  const Result<std::vector<ResponseItem>> answer = ask_(owner, numbers, stop);
  // The request may have been too large for its deadline, which says nothing about the rank's
  // health: the same records are requested again, fewer at a time.
  if (!answer.ok() && records.size() > 1 && clock_.now() - asked >= kSlowRequest) {
    max_records = (records.size() + kShrinkFactor - 1) / kShrinkFactor;
    health.abandoned();
    for (Pending& record : records) record.outcome = Outcome::kNotYet;
    return;
  }
  if (!answer.ok() || answer->size() != records.size()) {
    health.failed(clock_.now().time_since_epoch());
    return;
  }
  health.answered();
  max_records = std::min(2 * max_records, kMaxRequested);
  take_answer(*answer, records);
}

void RecordExchange::take_answer(const std::vector<ResponseItem>& answer, std::vector<Pending>& records) {
  // A record that the rank does not have and will not have stays kUnknown and is read again from
  // the log; so does a record that arrived damaged.
  for (size_t i = 0; i < records.size(); ++i) {
    const ResponseItem& one = answer[i];
    if (one.state == ResponseItem::State::kHere && records_.receive(records[i].number, one.body).ok())
      records[i].outcome = Outcome::kReceived;
    if (one.state == ResponseItem::State::kComing && clock_.now() - records[i].since < kSlowerRankPatience)
      records[i].outcome = Outcome::kNotYet;
  }
}

Status RecordExchange::fetch_without_owner(Pending& record, const std::stop_token& stop) {
  const Status read = records_.read_from_log(record.number, stop);
  if (read.ok()) {
    record.outcome = Outcome::kReread;
    return {};
  }
  // Only a record that the log has deleted gets a replacement. If the log cannot be reached, the
  // run ends, and can be resumed from a state with the right records.
  if (read.code() != Code::kNotFound || !records_.replace(record.number)) return read;
  record.outcome = Outcome::kLost;
  return {};
}

// Returns whether a record has arrived.
bool RecordExchange::finish_arrived(const PendingByOwner& pending) {
  bool has_arrived = false;
  for (const auto& [owner, records] : pending) {
    for (const Pending& record : records) {
      if (record.outcome == Outcome::kUnknown || record.outcome == Outcome::kNotYet) continue;
      // The step that needed the record may be over, while a later one needs it again: its bytes
      // were released with the first step.
      if (!records_.all_available(std::span(&record.number, 1))) continue;
      if (wanted_.erase(record.number) == 0) continue;
      stats_.received += record.outcome == Outcome::kReceived ? 1 : 0;
      stats_.reread += record.outcome == Outcome::kReread ? 1 : 0;
      stats_.lost += record.outcome == Outcome::kLost ? 1 : 0;
      has_arrived = true;
    }
  }
  return has_arrived;
}

}  // namespace forebay
