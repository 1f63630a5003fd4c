#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "format/table/open_table.h"
#include "stream/files/file_pattern.h"
#include "stream/record_log.h"

namespace forebay {

/// The rows to take from the files of a folder.
struct RowRequest {
  TableRequest table;  ///< its format and selection
  std::string said;    ///< the same in words, for RecordLog::identity()
  /// A row group that takes more memory than that, decoded, is OutOfBudget.
  uint64_t most_group_bytes = uint64_t{2} << 30;
};

/// The rows of Parquet and Arrow files that appear in local folders: file after file in the order
/// of their last change (FollowedFolder), in each row after row; one partition. The columns are
/// those of the first file there. What is wrong with a file, a row group or a row is a record of
/// its own, in its place, whose load() says it. Names that other systems leave aside (is_aside())
/// are passed over.
///
/// `pattern` may be a folder: the files below it, by their endings. Looks at the folder and reads
/// the first file's index. NotFound where there is no file; Unavailable where none has been left
/// alone for a second in half a minute.
Result<std::shared_ptr<const RecordLog>> open_row_log(const std::string& pattern, RowRequest request,
                                                      const TableCodecs& codecs, std::stop_token stop);

}  // namespace forebay
