#pragma once

#include <memory>

#include "stream/files/file_pattern.h"
#include "stream/record_format.h"
#include "stream/record_log.h"

namespace forebay {

/// Lines of files that grow, each file a partition: those that match now, in byte order of their
/// names. A record is a line, its offset the position in bytes behind it. Files that match later
/// are not read. NotFound where nothing matches. Looks at the folder.
Result<std::shared_ptr<const RecordLog>> open_line_log(const FilePattern& pattern, RecordFormat format,
                                                       std::stop_token stop);

}  // namespace forebay
