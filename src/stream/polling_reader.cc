#include "stream/polling_reader.h"

#include <fmt/format.h>

namespace forebay {

Result<std::vector<LogRecord>> PollingReader::read(const std::vector<size_t>& wanted, const Limits& limits,
                                                   std::stop_token stop) {
  const Time end = clock_.now() + limits.wait;
  Limits rest = limits;
  std::vector<LogRecord> records;
  while (!stop.stop_requested()) {
    rest.wait = std::chrono::ceil<std::chrono::milliseconds>(end - std::min(end, clock_.now()));
    const size_t gaps = gaps_.size();
    if (!wanted.empty()) FOREBAY_RETURN_IF_ERROR(poll(wanted, rest, stop, records));
    const bool found = !records.empty() || gaps_.size() > gaps;
    if (!stop.stop_requested() && (found || clock_.now() >= end)) return records;
    clock_.wait_until(wanted.empty() ? end : std::min(end, next_poll(wanted.size())), stop);
  }
  return cancelled("stopped while waiting for records");
}

Status PollingReader::no_such_partition(size_t partition) {
  return invalid_argument(fmt::format("partition {} is not of this reader", partition));
}

}  // namespace forebay
