#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "stream/record_log.h"

namespace forebay {

/// Where a record that was read before lies.
struct RecordPlace {
  size_t partition = 0;
  std::string offset;
  std::string before;  ///< an offset that reading it again begins behind; empty: with the first one there is
};

/// Reads it again. NotFound where the log has forgotten it; Unavailable where it cannot be reached for some seconds; Cancelled after a stop.
Result<std::shared_ptr<const LogRecord>> read_record(const RecordLog& log, const RecordPlace& place,
                                                     const std::stop_token& stop);

}  // namespace forebay
