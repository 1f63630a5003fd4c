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

/// How the files of one log become rows. Lives as long as the log.
struct RowReading {
  FilePattern pattern;
  TableRequest request;  ///< with the model, once there is one
  const TableCodecs* codecs = nullptr;
  uint64_t most_group_bytes = 0;  ///< RowRequest::most_group_bytes
};

/// Opens one file of a followed folder as a table of its own, from what is open already. Errors are
/// those of tables.
Result<std::shared_ptr<const ChunkSource>> open_file_table(std::shared_ptr<OpenedFile> file, const std::string& path,
                                                           const RowReading& reading, const std::stop_token& stop);

/// The rows of one file as records, from one row on, row group by row group: one at a time is in
/// memory. For one thread.
class FileRows {
 public:
  /// `place` stands in the offsets. `first`: the row that comes first. `table` must be of the
  /// schema that `payload` has.
  FileRows(FolderPlace place, std::shared_ptr<OpenedFile> file, std::shared_ptr<const ChunkSource> table, int64_t first,
           const RowReading& reading, const RowPayload& payload);

  /// Adds the next ones, of so many bytes about; a row group that is damaged is one record, which
  /// says so. An error, OutOfBudget or Unavailable, has nothing to do with the data.
  Status take(size_t records, uint64_t bytes, const std::stop_token& stop, std::vector<LogRecord>& out);
  bool done() const { return next_ > last_; }
  /// Decoded columns in memory.
  uint64_t held_bytes() const { return group_bytes_; }

 private:
  bool keeps(int64_t row) const;
  void skip_left_out();
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
  int64_t next_ = 0;   ///< row
  int64_t last_ = -1;  ///< the last row that the source keeps
  int64_t chunk_ = 0;  ///< that `next_` is in, or an earlier one
  std::optional<Columns> group_;
  int64_t group_begin_ = 0, group_end_ = 0;
  uint64_t group_bytes_ = 0;
};

}  // namespace forebay
