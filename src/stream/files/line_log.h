#pragma once

#include <memory>

#include "stream/files/file_pattern.h"
#include "stream/record_format.h"
#include "stream/record_log.h"
#include "stream/stream_clock.h"

namespace forebay {

/// Opens a log of the lines of growing files. Each file that matches now is a partition, in byte
/// order of their names. A record is a line; its offset is the position in bytes after the line.
/// Files that match later are not read. Scans the folder. NotFound if nothing matches.
Result<std::shared_ptr<const RecordLog>> open_line_log(const FilePattern& pattern, RecordFormat format,
                                                       std::stop_token stop, StreamClock& clock = StreamClock::real());

}  // namespace forebay
