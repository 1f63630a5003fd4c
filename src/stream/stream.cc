#include "stream/stream.h"

#include <utility>

namespace forebay {

Stream::Stream(std::shared_ptr<const RecordLog> log, StreamOptions options)
    : log_(std::move(log)), options_(options), memory_(std::make_shared<StreamBytes>()),
      decider_(options_, log_->partitions().size()), reading_(log_, options_.skip_trimmed, *this) {
  // Sets all members as a seek does. `stopped_` stays true until the next seek, before which guide
  // and observers are set.
  decider_.seek(beginning());
}

Stream::~Stream() { stop(); }

StreamPlace Stream::beginning() const {
  const size_t partitions = log_->partitions().size();
  return {0, std::vector<std::string>(partitions), std::vector<int64_t>(partitions), std::nullopt};
}

void Stream::seek(StreamPlace place) {
  stop();
  const Lock lock(mutex_);
  decider_.seek(std::move(place));
  stopped_ = reads_ = false;
}

void Stream::stop() {
  {
    const Lock lock(mutex_);
    stopped_ = true;
    // The lock is held: request() has made the threads by now, or will find `stopped_`.
    reading_.request_stop();
  }
  readers_wakeup_.notify_all();
  reading_.join();
}

void Stream::drop_records() {
  Decider::Dropped dropped;  // destroyed without the lock
  const Lock lock(mutex_);
  dropped = decider_.drop_records();
}

bool Stream::await_beginning(std::chrono::milliseconds patience, const std::stop_token& stop) {
  Lock lock(mutex_);
  readers_wakeup_.wait_for(lock, stop, patience,
                           [&]() FOREBAY_REQUIRES(mutex_) { return stopped_ || decider_.poll_beginning(); });
  return decider_.decided().base().began_at_log_end;
}

// A run of StreamOptions::from_now begins at the end of the log, or where its guide says.
Result<std::vector<std::string>> Stream::find_beginning(const std::stop_token& stop) {
  Lock lock(mutex_);
  switch (decider_.resolve_beginning()) {
    case Decider::Beginning::kKnown: break;
    case Decider::Beginning::kFromGuide:
      readers_wakeup_.wait(lock, stop, [&]() FOREBAY_REQUIRES(mutex_) { return decider_.poll_beginning(); });
      break;
    case Decider::Beginning::kEndOfLog:
      lock.unlock();
      FOREBAY_ASSIGN(std::vector<std::string> ends, reading_.ends(stop));
      lock.lock();
      decider_.set_beginning(std::move(ends));
  }
  return decider_.decided().base().after;
}

RecordSink::Demand Stream::wait_for_demand(std::span<const size_t> partitions, const std::stop_token& stop) {
  Demand wanted;
  Lock lock(mutex_);
  readers_wakeup_.wait(lock, stop, [&]() FOREBAY_REQUIRES(mutex_) {
    return !(wanted.partitions = decider_.partitions_to_read(partitions)).empty();
  });
  if (stop.stop_requested()) return {};
  wanted.free_bytes = decider_.free_bytes();
  return wanted;
}

Status Stream::add_records(std::vector<LogRecord> records) {
  bool notify = false;
  {
    const Lock lock(mutex_);
    for (LogRecord& record : records) FOREBAY_RETURN_IF_ERROR(decider_.add(std::move(record)));
    notify = on_change();
  }
  if (notify) arrived_();
  return {};
}

void Stream::end_of_log() {
  bool notify = false;
  {
    const Lock lock(mutex_);
    decider_.end_of_log();
    notify = on_change();
  }
  if (notify) arrived_();
}

// Makes the requested decisions on the reader's thread, so that the run is notified only of whole
// steps.
bool Stream::on_change() {
  const bool notify = !stopped_ && decider_.decide_requested();
  wake_readers();
  memory_->set(bytes());
  return notify && arrived_;
}

void Stream::wake_readers() {
  if (decider_.take_change()) readers_wakeup_.notify_all();
}

void Stream::look_again() {
  bool notify = false;
  {
    const Lock lock(mutex_);
    if (stopped_) return;
    readers_wakeup_.notify_all();  // for those that wait for the beginning
    notify = on_change();
  }
  if (notify) arrived_();
}

void Stream::fail(Status status) {
  bool notify = false;
  {
    const Lock lock(mutex_);
    if (stopped_ || status.code() == Code::kCancelled) return;
    decider_.fail(std::move(status));
    notify = on_change();
  }
  if (notify) arrived_();
}

bool Stream::request(int64_t end) {
  const Lock lock(mutex_);
  if (stopped_ || !decider_.failure().ok()) return false;
  if (!std::exchange(reads_, true)) {
    if (Status started = reading_.start(); !started.ok()) decider_.fail(std::move(started));
    if (log_->readers().empty()) decider_.end_of_log();
  }
  const bool known = decider_.request(end);
  wake_readers();
  return known;
}

void Stream::set_awaited(int64_t end) {
  const Lock lock(mutex_);
  if (decider_.set_awaited(end)) readers_wakeup_.notify_all();
}

bool Stream::decide_now(int64_t end) {
  const Lock lock(mutex_);
  if (stopped_ || !decider_.failure().ok()) return false;
  const bool known = decider_.decide_now(end);
  wake_readers();
  return known;
}

std::string Stream::awaited() const {
  const Lock lock(mutex_);
  std::optional<std::string> others = decider_.awaited();
  return others ? *std::move(others) : reading_.awaited(decider_.waiting().counts(), options_.decision_records);
}

int64_t Stream::set_observer(std::shared_ptr<DecisionObserver> observer, int64_t from) {
  // Reported and set under one lock, so that no decision is missed or reported twice.
  const Lock lock(mutex_);
  return decider_.set_observer(std::move(observer), from);
}

void Stream::fill(int64_t number, LogRecord whole) {
  const Lock lock(mutex_);
  decider_.decided().fill(number, std::move(whole));
  memory_->set(bytes());
}

void Stream::delivered(int64_t number) {
  // Destroyed without the lock: the end of a record may run a program's own code, which must not
  // run under it.
  std::vector<std::vector<DecidedRecords::RecordPtr>> gone;
  Lock lock(mutex_);
  gone = decider_.decided().take_delivered(number);
  memory_->set(bytes());
  readers_wakeup_.notify_all();
  lock.unlock();
  if (!released_) return;
  for (const auto& records : gone) {
    for (const auto& record : records)
      if (record) released_(*record);
  }
}

uint64_t Stream::bytes() const {
  return decider_.decided().bytes() + decider_.waiting().bytes() + reading_.held_bytes();
}

Stream::Stats Stream::stats() const {
  const Lock lock(mutex_);
  const DecidedRecords& decided = decider_.decided();
  const LogReading::Stats read = reading_.stats();
  return {.arrived = read.arrived,
          .decided = decided.end() - decided.base().number,
          .reconnects = read.reconnects,
          .trimmed = read.trimmed,
          .missing = decided.missing_records(),
          .dropped = decided.dropped(),
          .bytes = bytes(),
          .waiting = decider_.waiting().counts()};
}

}  // namespace forebay
