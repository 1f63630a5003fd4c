#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "stream/record_log.h"

namespace forebay {

/// The place of a record in its log, from which it can be read again.
struct RecordPlace {
  size_t partition = 0;
  std::string offset;
  /// The offset after which reading the record again begins. Empty: the beginning of the partition.
  std::string before;
  friend bool operator==(const RecordPlace&, const RecordPlace&) = default;
};

/// Reads a record again, with a reader of its own, and waits for the log. NotFound if the log has
/// trimmed the record; Unavailable if the log cannot be reached for some seconds; Cancelled after a
/// stop.
Result<std::shared_ptr<const LogRecord>> read_record(const RecordLog& log, const RecordPlace& place,
                                                     const std::stop_token& stop);

}  // namespace forebay
