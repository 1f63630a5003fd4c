#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/chunk_source.h"
#include "format/table/open_table.h"
#include "stream/files/followed_folder.h"
#include "stream/record_log.h"
#include "stream/rows/opened_file.h"
#include "stream/rows/row_payload.h"

namespace forebay {

/// The rules by which the files of one log become rows. Lives as long as the log.
struct RowReading {
  FilePattern pattern;
  TableRequest request;  ///< its `model` is set once the first file was opened
  const TableCodecs* codecs = nullptr;
  uint64_t max_group_bytes = 0;  ///< RowRequest::max_group_bytes
};

/// Opens one file of a followed folder as a table of its own. Reads the open file and never looks
/// its name up again. Errors are those of tables.
Result<std::shared_ptr<const ChunkSource>> open_file_table(std::shared_ptr<OpenedFile> file, const std::string& path,
                                                           const RowReading& reading, const std::stop_token& stop);

/// The rows of one file as records, beginning at a given row. One row group at a time is in memory.
/// For one thread.
class FileRows {
 public:
  /// `place`: the file's place, for offsets. `first`: the first row to return. `table` must have
  /// the schema of `payload`.
  FileRows(FolderPlace place, std::shared_ptr<OpenedFile> file, std::shared_ptr<const ChunkSource> table, int64_t first,
           const RowReading& reading, const RowPayload& payload);

  /// Adds at most `records` further rows of about `bytes` bytes. A damaged row group is one record,
  /// whose load() returns the error. Other errors, such as OutOfBudget or Unavailable, are not
  /// caused by the data, and are returned.
  Status take(size_t records, uint64_t bytes, const std::stop_token& stop, std::vector<LogRecord>& out);
  bool done() const { return next_ > last_; }
  /// Decoded columns in memory.
  uint64_t held_bytes() const { return group_bytes_; }

 private:
  bool is_selected(int64_t row) const;
  void skip_unselected();
  Result<Columns> decode(int64_t chunk, const std::stop_token& stop) const;
  Result<std::vector<Buffer>> fetch(int64_t chunk, const std::stop_token& stop) const;
  Status load_group(const std::stop_token& stop, std::vector<LogRecord>& out);
  uint64_t take_block(size_t records, uint64_t bytes, std::vector<LogRecord>& out);
  LogRecord record_of(int64_t row, Buffer payload) const;
  const Status* bad_row(int64_t row) const;

  const FolderPlace place_;
  const std::shared_ptr<OpenedFile> file_;
  const std::shared_ptr<const ChunkSource> table_;
  const RowReading& reading_;
  const RowPayload& payload_;
  int64_t next_ = 0;   ///< next row
  int64_t last_ = -1;  ///< last row that the filter keeps
  int64_t chunk_ = 0;  ///< row group of `next_`, or an earlier one
  std::optional<Columns> group_;
  int64_t group_begin_ = 0, group_end_ = 0;
  uint64_t group_bytes_ = 0;
};

}  // namespace forebay
