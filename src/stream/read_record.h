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
  std::string before;  ///< reading it again begins after this offset; empty: with the first record there is
};

/// Reads a record again. NotFound where the log has forgotten it; Unavailable where the log cannot
/// be reached for some seconds; Cancelled after a stop.
Result<std::shared_ptr<const LogRecord>> read_record(const RecordLog& log, const RecordPlace& place,
                                                     const std::stop_token& stop);

}  // namespace forebay
