#include "stream/read_record.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/format.h>

namespace forebay {

namespace {
// Longer than a reader waits between two attempts to connect (Backoff::kLongest), so that a server
// that restarts is reached again.
constexpr std::chrono::seconds kReadPatience{30};
}  // namespace

Result<std::shared_ptr<const LogRecord>> read_record(const RecordLog& log, const RecordPlace& place,
                                                     const std::stop_token& stop) {
  const std::string& partition = log.partitions()[place.partition];
  auto until = std::chrono::steady_clock::now() + kReadPatience;
  size_t records_at_once = 1;
  // A partition's first record was there when the partition was read, so a trimmed beginning is a
  // gap.
  FOREBAY_ASSIGN(const std::unique_ptr<LogReader> reader,
                 log.read_after({{place.partition, place.before, /*known_from_first=*/place.before.empty()}}));
  const auto trimmed = [&] {
    return Status(Code::kNotFound, fmt::format("{}: partition '{}' has forgotten '{}', which was read before; "
                                               "begin a new run, or keep more of the log",
                                               log.name(), partition, place.offset));
  };
  for (;;) {
    // The record comes next, or after dropped ones. Each read takes twice as many records as the
    // previous one.
    LogReader::Limits most;
    most.records = records_at_once = std::min(most.records, 2 * records_at_once);
    FOREBAY_ASSIGN(std::vector<LogRecord> records, reader->read({place.partition}, most, stop));
    if (!records.empty()) until = std::chrono::steady_clock::now() + kReadPatience;
    for (const LogRecord& record : records) {
      const int order = log.compare(record.offset, place.offset);
      if (order == 0) return std::make_shared<const LogRecord>(record.deep_copy());
      if (order > 0) return trimmed();
    }
    // There may be no record after a gap, so that only the gap shows the loss.
    for (const LogGap& gap : reader->take_gaps())
      if (gap.until.empty() || log.compare(gap.until, place.offset) > 0) return trimmed();
    // This loop ends: a reader without records returns every now and then (LogReader::read()), and
    // fails after a stop.
    if (reader->ended() || std::chrono::steady_clock::now() > until)
      return unavailable(fmt::format("{}: '{}' of partition '{}', which was read before, cannot be read again: {}",
                                     log.name(), place.offset, partition,
                                     reader->trouble().empty() ? "it does not come" : reader->trouble()));
  }
}

}  // namespace forebay
