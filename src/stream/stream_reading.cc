#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "stream/stream.h"
#include "telemetry/log.h"

// How records get into a stream: a thread for each reader of its log.

namespace forebay {

namespace {

// Of one read, also where the budget is used up: less is not worth the way to a broker.
constexpr uint64_t kLeastRead = uint64_t{64} << 10;
constexpr size_t kNamedPartitions = 5;
constexpr std::chrono::milliseconds kAskAgain{200};

// How many seconds ago, for messages; 0: never.
std::string ago(int64_t at_ns, int64_t now_ns) {
  return at_ns == 0 ? "so far" : fmt::format("for {:.0f} s", static_cast<double>(now_ns - at_ns) * 1e-9);
}

Status no_thread(const std::system_error& error) {
  return unavailable(fmt::format(
      "no thread is to be had to read a stream with: {}; each reader of it has one (ulimit -u)", error.what()));
}

}  // namespace

// With the lock held.
void Stream::start_reading() {
  reading_ = true;
  readers_ = log_->readers().size();
  troubles_.assign(readers_, "");
  held_.assign(readers_, 0);
  try {
    reading_thread_ = std::jthread([this](std::stop_token stop) { read_all(std::move(stop)); });
  } catch (const std::system_error& error) {
    failure_ = no_thread(error);
  }
}

void Stream::stop() {
  {
    const Lock lock(mutex_);
    stopped_ = true;
    // Under the lock: known() has made the thread by now, or finds `stopped_`.
    reading_thread_.request_stop();
  }
  room_.notify_all();
  if (reading_thread_.joinable()) reading_thread_.join();
  reading_thread_ = {};
  const Lock lock(mutex_);
  held_.clear();  // with the readers
}

void Stream::drop_records() {
  std::vector<std::shared_ptr<const LogRecord>> records;  // and these: they end without the lock
  std::unique_ptr<Waiting> waiting = make_waiting();
  const Lock lock(mutex_);
  waiting_.swap(waiting);
  for (Decided& decided : decisions_) {
    for (auto& record : decided.records) records.push_back(std::move(record));
    decided.bytes = 0;
  }
  decision_bytes_ = 0;
}

// The first reader's thread has those of the others.
void Stream::read_all(std::stop_token stop) {
  if (Status found = find_beginning(stop); !found.ok()) return fail(std::move(found));
  const std::vector<std::vector<LogPosition>> positions = reader_positions();
  // Joined at the end of this function, before what they refer to goes.
  std::vector<std::jthread> others;
  try {
    for (size_t reader = 1; reader < positions.size(); ++reader)
      others.emplace_back([this, &positions, reader, stop] { read(reader, positions[reader], stop); });
  } catch (const std::system_error& error) {
    return fail(no_thread(error));
  }
  if (!positions.empty()) read(0, positions[0], stop);
}

// A run that wants only what comes now asks where that begins; whoever follows one is told with the first records.
Status Stream::find_beginning(std::stop_token stop) {
  {
    Lock lock(mutex_);
    const bool nowhere =
        std::all_of(base_.after.begin(), base_.after.end(), [](const std::string& offset) { return offset.empty(); });
    // A state that stands in the first decision goes on with it, also where the log had nothing when it began.
    if (!options_.from_now || base_.number != 0 || (given_ && !guide_)) return {};
    if (base_.begun || !nowhere) {
      // Others may not know what this rank's state says.
      tells_after_ = !guide_;
      if (told_) told_->begins(base_.after);
      return {};
    }
    if (guide_) {
      std::optional<std::vector<std::string>> after;
      room_.wait(lock, stop, [&] {
        return (given_ && given_->missing == 0) || (after = guide_->beginning()) || end_ || !failure_.ok();
      });
      if (given_ && !given_->after.empty()) after = given_->after;
      if (after) {
        base_.after = *std::move(after);
        base_.begun = true;
      }
      return {};
    }
  }
  for (;;) {
    Result<std::vector<std::string>> ends = log_->ends(stop);
    Lock lock(mutex_);
    if (ends.ok()) {
      base_.after = std::move(*ends);
      base_.begun = true;
      tells_after_ = true;
      if (told_) told_->begins(base_.after);
      return {};
    }
    if (ends.status().code() != Code::kUnavailable) return ends.status();
    troubles_[0] = ends.status().message();
    if (room_.wait_for(lock, stop, kAskAgain, [] { return false; }) || stop.stop_requested())
      return cancelled("the stream was stopped");
  }
}

bool Stream::await_beginning(std::chrono::milliseconds patience, const std::stop_token& stop) {
  Lock lock(mutex_);
  std::optional<std::vector<std::string>> after;
  room_.wait_for(lock, stop, patience,
                 [&] { return stopped_ || !failure_.ok() || (after = guide_->beginning()).has_value(); });
  if (!after) return false;
  base_.after = *std::move(after);
  base_.begun = true;
  return true;
}

std::vector<std::vector<LogPosition>> Stream::reader_positions() const {
  const Lock lock(mutex_);
  std::vector<std::vector<LogPosition>> positions;
  for (const std::vector<size_t>& partitions : log_->readers()) {
    positions.emplace_back();
    for (const size_t p : partitions) positions.back().push_back({p, base_.after[p]});
  }
  return positions;
}

void Stream::read(size_t number, const std::vector<LogPosition>& from, std::stop_token stop) {
  // Made, used and destroyed on this thread: clients of brokers are for one thread.
  Result<std::unique_ptr<LogReader>> reader = log_->read_after(from);
  if (!reader.ok()) return fail(reader.status());
  while (!stop.stop_requested()) {
    std::vector<size_t> partitions;
    LogReader::Limits most;
    {
      Lock lock(mutex_);
      room_.wait(lock, stop, [&] { return !(partitions = wanted(from)).empty(); });
      if (stop.stop_requested()) return;
      most = limits();
    }
    Result<std::vector<LogRecord>> records = (*reader)->read(partitions, most, stop);
    // What came with the stop is not taken in: a seek reads it again.
    if (stop.stop_requested()) return;
    if (!records.ok()) return fail(records.status());
    if (Status taken = take_in(number, **reader, std::move(*records)); !taken.ok()) return fail(std::move(taken));
    // Of all logs only a program's own ends; readers of brokers and files go on.
    if ((*reader)->ended()) break;
  }
  Lock lock(mutex_);
  ++ended_;
  after_news(lock);
}

std::vector<size_t> Stream::wanted(const std::vector<LogPosition>& mine) const {
  std::vector<size_t> partitions;
  for (const LogPosition& position : mine) {
    if (waiting_->wants(position.partition, decision_bytes_, awaited_ > decided_))
      partitions.push_back(position.partition);
  }
  return partitions;
}

// So that all readers together stay within what is free.
LogReader::Limits Stream::limits() const {
  const uint64_t used = decision_bytes_ + waiting_->bytes();
  LogReader::Limits most;
  most.bytes = std::min(most.bytes, std::max(kLeastRead, (options_.bytes - std::min(options_.bytes, used)) /
                                                             (2 * std::max<size_t>(readers_, 1))));
  return most;
}

Status Stream::take_in(size_t reader, LogReader& from, std::vector<LogRecord> records) {
  // Before the records: where a gap is an error, what came behind it must not be trained on.
  FOREBAY_RETURN_IF_ERROR(note_gaps(from.take_gaps()));
  const int64_t now_ns = monotonic_ns();
  Lock lock(mutex_);
  troubles_[reader] = from.troubled();
  held_[reader] = from.held_bytes();
  reconnects_ = std::max(reconnects_, from.reconnects());
  if (records.empty()) return {};
  arrived_records_ += static_cast<int64_t>(records.size());
  for (LogRecord& record : records) {
    heard_ns_[record.partition] = now_ns;
    FOREBAY_RETURN_IF_ERROR(waiting_->add(std::move(record)));
  }
  after_news(lock);
  return {};
}

Status Stream::note_gaps(const std::vector<LogGap>& gaps) {
  for (const LogGap& gap : gaps) {
    const std::string how_many = gap.records ? fmt::format("{}", *gap.records) : "some";
    const std::string said =
        fmt::format("{}: partition '{}' has forgotten {} records that had not been read; {}", log_->name(),
                    log_->partitions()[gap.partition], how_many,
                    gap.until.empty() ? "it has none now" : fmt::format("the first that it has is '{}'", gap.until));
    if (!options_.skip_trimmed)
      return Status(Code::kNotFound, said + "; keep more of it, or go on without them: on_trimmed=\"skip\"");
    log_warning(said);
    const Lock lock(mutex_);
    trimmed_ += gap.records.value_or(0);
  }
  return {};
}

// Decides what was asked for and could not be, and tells who asked. The lock is let go of.
void Stream::after_news(Lock& lock) {
  // On the reader's thread, so that the run is told of whole steps alone.
  while (asked_ > decided_ && !end_ && failure_.ok() && !stopped_ && decide()) {
  }
  kept_->set(bytes());
  const bool tell = asked_ > 0 && (decided_ >= asked_ || end_ || !failure_.ok());
  if (tell) asked_ = 0;
  lock.unlock();
  if (tell && arrived_) arrived_();
}

void Stream::look_again() {
  Lock lock(mutex_);
  if (stopped_) return;
  room_.notify_all();  // who waits for the beginning
  after_news(lock);
}

void Stream::fail(Status status) {
  Lock lock(mutex_);
  if (stopped_ || status.code() == Code::kCancelled) return;
  if (failure_.ok()) failure_ = std::move(status);
  // So that after_news() tells of the failure, also where nobody had asked.
  asked_ = std::max<int64_t>(asked_, 1);
  after_news(lock);
}

std::string Stream::awaited() const {
  const Lock lock(mutex_);
  if (guide_ && !given_) return guide_->awaited();
  if (told_ && !told_->may_decide()) return told_->awaited();
  const std::vector<size_t> counts = waiting_->counts();
  size_t all = 0;
  std::vector<size_t> silent;
  for (size_t p = 0; p < counts.size(); ++p) {
    all += counts[p];
    if (counts[p] == 0) silent.push_back(p);
  }
  std::sort(silent.begin(), silent.end(), [&](size_t a, size_t b) { return heard_ns_[a] < heard_ns_[b]; });
  std::string said =
      fmt::format("records of {}: {} of {} for the next batch are there", log_->name(), all, options_.decision_records);
  const int64_t now_ns = monotonic_ns();
  for (size_t i = 0; i < std::min(silent.size(), kNamedPartitions); ++i)
    said += fmt::format("; '{}' gave nothing {}", log_->partitions()[silent[i]], ago(heard_ns_[silent[i]], now_ns));
  if (silent.size() > kNamedPartitions) said += fmt::format("; nor did {} others", silent.size() - kNamedPartitions);
  for (const std::string& trouble : troubles_) {
    if (!trouble.empty()) return said + "; " + trouble;
  }
  return said;
}

}  // namespace forebay
