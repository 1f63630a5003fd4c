#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "stream/record_log.h"

namespace forebay {

/// The place of a record that was read before.
struct RecordPlace {
  size_t partition = 0;
  std::string offset;
  /// Reading the record again begins after this offset; empty: at the first record there is.
  std::string before;
  friend bool operator==(const RecordPlace&, const RecordPlace&) = default;
};

/// Reads a record again. NotFound if the log has trimmed it; Unavailable if the log cannot be
/// reached for some seconds; Cancelled after a stop.
Result<std::shared_ptr<const LogRecord>> read_record(const RecordLog& log, const RecordPlace& place,
                                                     const std::stop_token& stop);

}  // namespace forebay
