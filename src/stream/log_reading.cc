#include "stream/log_reading.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "telemetry/log.h"

namespace forebay {

namespace {

// Least size of a read, even if the budget is used up: less is not worth a request to a broker.
constexpr uint64_t kLeastRead = uint64_t{64} << 10;
constexpr size_t kMaxNamedPartitions = 5;
constexpr std::chrono::milliseconds kEndsRetryPause{200};

// Text for messages: "for 12 s", or "so far" if it never was.
std::string silence_of(const std::optional<StreamClock::Time>& at, StreamClock::Time now) {
  return at ? fmt::format("for {:.0f} s", std::chrono::duration<double>(now - *at).count()) : "so far";
}

Status no_thread(const std::system_error& error) {
  return unavailable(fmt::format(
      "no thread is to be had to read a stream with: {}; each reader of it has one (ulimit -u)", error.what()));
}

}  // namespace

LogReading::LogReading(std::shared_ptr<const RecordLog> log, bool skip_trimmed, RecordSink& sink, StreamClock& clock)
    : log_(std::move(log)), skip_trimmed_(skip_trimmed), sink_(sink), clock_(clock), heard_(log_->partitions().size()) {
}

LogReading::~LogReading() {
  request_stop();
  join();
}

Status LogReading::start() {
  const size_t readers = log_->readers().size();
  {
    const Lock lock(mutex_);
    troubles_.assign(readers, "");
    held_bytes_.assign(readers, 0);
    reconnects_.assign(readers, 0);
    heard_.assign(log_->partitions().size(), std::nullopt);
  }
  reading_ = readers;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { read_all(stop); });
  } catch (const std::system_error& error) {
    return no_thread(error);
  }
  return {};
}

void LogReading::join() {
  if (thread_.joinable()) thread_.join();
  thread_ = {};
  const Lock lock(mutex_);
  held_bytes_.clear();  // the readers are destroyed
}

// Runs on the first reader's thread, which owns the threads of the others.
void LogReading::read_all(const std::stop_token& stop) {
  const Result<std::vector<std::string>> after = sink_.find_beginning(stop);
  if (!after.ok()) return sink_.fail(after.status());
  std::vector<std::vector<LogPosition>> positions;
  for (const std::vector<size_t>& partitions : log_->readers()) {
    positions.emplace_back();
    for (const size_t p : partitions) positions.back().push_back({p, (*after)[p]});
  }
  // These are joined at the end of this function, before `positions` is destroyed.
  std::vector<std::jthread> others;
  try {
    for (size_t reader = 1; reader < positions.size(); ++reader)
      others.emplace_back([this, &positions, reader, stop] { read(reader, positions[reader], stop); });
  } catch (const std::system_error& error) {
    return sink_.fail(no_thread(error));
  }
  if (!positions.empty()) read(0, positions[0], stop);
}

Result<std::vector<std::string>> LogReading::ends(const std::stop_token& stop) {
  for (;;) {
    Result<std::vector<std::string>> ends = log_->ends(stop);
    if (ends.ok() || ends.status().code() != Code::kUnavailable) return ends;
    {
      const Lock lock(mutex_);
      troubles_[0] = ends.status().message();
    }
    if (!clock_.wait_for(kEndsRetryPause, stop)) return cancelled("the stream was stopped");
  }
}

void LogReading::read(size_t number, const std::vector<LogPosition>& from, const std::stop_token& stop) {
  // The reader is made, used and destroyed on this thread: clients of brokers are for one thread.
  Result<std::unique_ptr<LogReader>> reader = log_->read_after(from);
  if (!reader.ok()) return sink_.fail(reader.status());
  std::vector<size_t> mine;
  for (const LogPosition& position : from) mine.push_back(position.partition);
  const size_t readers = log_->readers().size();
  do {
    const RecordSink::Demand wanted = sink_.wait_for_demand(mine, stop);
    if (wanted.partitions.empty()) return;
    LogReader::Limits most;
    // All readers together must stay within the free memory.
    most.bytes = std::min(most.bytes, std::max(kLeastRead, wanted.free_bytes / (2 * readers)));
    Result<std::vector<LogRecord>> records = (*reader)->read(wanted.partitions, most, stop);
    // Records that come with the stop are not taken in: a seek reads them again.
    if (stop.stop_requested()) return;
    if (!records.ok()) return sink_.fail(records.status());
    if (Status taken = add_records(number, **reader, std::move(*records)); !taken.ok())
      return sink_.fail(std::move(taken));
    // Only a program's own log ends; readers of brokers and files go on.
  } while (!(*reader)->ended());
  if (--reading_ == 0) sink_.end_of_log();
}

Status LogReading::add_records(size_t number, LogReader& reader, std::vector<LogRecord> records) {
  // Gaps come before the records: if a gap is an error, no record after it may be trained on.
  FOREBAY_RETURN_IF_ERROR(note_gaps(reader.take_gaps()));
  const StreamClock::Time now = clock_.now();
  {
    const Lock lock(mutex_);
    troubles_[number] = reader.trouble();
    held_bytes_[number] = reader.held_bytes();
    const int64_t reconnects = reader.reconnects();
    stats_.reconnects += std::max<int64_t>(0, reconnects - std::exchange(reconnects_[number], reconnects));
    stats_.arrived += static_cast<int64_t>(records.size());
    for (const LogRecord& record : records) heard_[record.partition] = now;
  }
  return records.empty() ? Status() : sink_.add_records(std::move(records));
}

Status LogReading::note_gaps(const std::vector<LogGap>& gaps) {
  for (const LogGap& gap : gaps) {
    const std::string how_many = gap.records ? fmt::format("{}", *gap.records) : "some";
    const std::string said =
        fmt::format("{}: partition '{}' has forgotten {} records that had not been read; {}", log_->name(),
                    log_->partitions()[gap.partition], how_many,
                    gap.until.empty() ? "it has none now" : fmt::format("the first that it has is '{}'", gap.until));
    if (!skip_trimmed_)
      return Status(Code::kNotFound, said + "; keep more of it, or go on without them: on_trimmed=\"skip\"");
    log_warning(said);
    const Lock lock(mutex_);
    stats_.trimmed += gap.records.value_or(0);
  }
  return {};
}

uint64_t LogReading::held_bytes() const {
  const Lock lock(mutex_);
  return std::accumulate(held_bytes_.begin(), held_bytes_.end(), uint64_t{0});
}

LogReading::Stats LogReading::stats() const {
  const Lock lock(mutex_);
  return stats_;
}

std::string LogReading::awaited(std::span<const size_t> waiting, size_t records) const {
  const Lock lock(mutex_);
  std::vector<size_t> silent;
  for (size_t p = 0; p < waiting.size(); ++p) {
    if (waiting[p] == 0) silent.push_back(p);
  }
  std::ranges::sort(silent, {}, [&](size_t p) FOREBAY_REQUIRES(mutex_) { return heard_[p]; });
  std::string said = fmt::format("records of {}: {} of {} for the next batch are there", log_->name(),
                                 std::accumulate(waiting.begin(), waiting.end(), size_t{0}), records);
  const StreamClock::Time now = clock_.now();
  for (size_t i = 0; i < std::min(silent.size(), kMaxNamedPartitions); ++i)
    said += fmt::format("; '{}' gave nothing {}", log_->partitions()[silent[i]], silence_of(heard_[silent[i]], now));
  if (silent.size() > kMaxNamedPartitions)
    said += fmt::format("; nor did {} others", silent.size() - kMaxNamedPartitions);
  for (const std::string& trouble : troubles_) {
    if (!trouble.empty()) return said + "; " + trouble;
  }
  return said;
}

}  // namespace forebay
