#pragma once

#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

#include "base/table_codec.h"
#include "format/files/find_files.h"
#include "format/table/table_index_cache.h"

namespace forebay {

/// Ending of mask columns in OpenedTable::masked that exist only for the filter. No user's column
/// has a name with this ending.
inline constexpr std::string_view kFilterMaskEnding = "\x1f_valid";

/// The reading mode for a filter's columns: with masks, because a filter must see the nulls.
TableReading masks_for_filters(const ColumnTypes& types);

/// A file whose index has been read.
struct OpenedTable {
  std::shared_ptr<const TableFile> file;    ///< read with the user's null policy
  std::shared_ptr<const TableFile> masked;  ///< read with masks; null without a filter
};

/// All files of a table, opened.
struct OpenedTables {
  std::vector<OpenedTable> files;
  std::shared_ptr<const TableIndexCache> cache;  ///< indices of the files in OpenedTable::file
};

/// How read_indices() opens files.
struct IndexOptions {
  const TableCodec* codec = nullptr;  ///< must outlive the opened tables
  TableReading reading;
  /// Columns of the filter; if empty, `masked` is not made.
  std::vector<std::string> filter_columns;
  uint64_t open_bytes = TableIndexCache::kOpenBytes;
};

/// Reads the indices of all files, many at a time, and fills in missing sizes. One error reports
/// all files that are missing, damaged or of an unsupported kind (ten by name). Only compressed
/// indices stay in memory (TableIndexCache).
Result<OpenedTables> read_indices(DataFiles& files, const IndexOptions& options, std::stop_token stop);

}  // namespace forebay
