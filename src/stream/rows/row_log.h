#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "format/table/open_table.h"
#include "stream/files/file_pattern.h"
#include "stream/record_log.h"
#include "stream/stream_clock.h"

namespace forebay {

/// The rows to read from the files of a folder.
struct RowRequest {
  TableRequest table;  ///< its format and selection
  std::string said;    ///< the same as text, for RecordLog::identity()
  /// The largest decoded row group, in bytes. A larger one is OutOfBudget.
  uint64_t max_group_bytes = uint64_t{2} << 30;
};

/// Opens a log of the rows of Parquet and Arrow files that appear in local folders. Its one
/// partition has file after file in the order of their last change (FollowedFolder), and row after
/// row in each file. The first file decides the columns. A bad file, row group or row is a record
/// in its place, whose load() returns the error. Names that other systems leave next to data
/// (is_auxiliary_name()) are skipped.
///
/// `pattern` may be a folder, which means the files below it that have the format's endings. Scans
/// the folder and reads the footer of the first file. NotFound if there is no file; Unavailable if
/// no file remains unchanged for a second within half a minute.
Result<std::shared_ptr<const RecordLog>> open_row_log(const std::string& pattern, RowRequest request,
                                                      const TableCodecs& codecs, std::stop_token stop,
                                                      StreamClock& clock = StreamClock::real());

}  // namespace forebay
