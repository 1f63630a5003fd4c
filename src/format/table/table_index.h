#pragma once

#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

#include "base/table_codec.h"
#include "format/files/find_files.h"
#include "format/table/table_shelf.h"

namespace forebay {

/// Of the masks of OpenedTable::masked where they are made for the filter alone: no column that somebody wrote ends so.
inline constexpr std::string_view kFilterMaskEnding = "\x1f_valid";

/// How a filter reads its columns: with masks, since it must see the nulls.
TableReading masks_for_filters(const ColumnTypes& types);

/// A file whose index has been read.
struct OpenedTable {
  std::shared_ptr<const TableFile> file;  ///< with the user's way of treating nulls
  std::shared_ptr<const TableFile>
      masked;  ///< with masks, for filters, which must see the nulls; null where there is no filter
};

struct OpenedTables {
  std::vector<OpenedTable> files;
  std::shared_ptr<const TableShelf> shelf;  ///< that of OpenedTable::file
};

struct IndexOptions {
  const TableCodec* codec = nullptr;  ///< must outlive what is opened
  TableReading reading;
  std::vector<std::string> filter_columns;  ///< without any there is no `masked`
  uint64_t open_bytes = TableShelf::kOpenBytes;
};

/// Reads the indices of all files, many at a time, and fills in the sizes that were not known. Files that are missing, damaged or of
/// a kind that cannot be read are told all at once (ten by name). What is kept of an index is small (TableShelf).
Result<OpenedTables> read_indices(DataFiles& files, const IndexOptions& options, std::stop_token stop);

}  // namespace forebay
