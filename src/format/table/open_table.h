#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/chunk_source.h"
#include "base/table_codec.h"
#include "format/files/find_files.h"
#include "format/files/open_store.h"
#include "format/table/partitions.h"
#include "format/table/row_filter.h"

namespace forebay {

/// The columns and rows to read from a table.
struct TableSelection {
  std::optional<std::vector<std::string>> columns = {};  ///< all columns if absent
  RowFilter filter = {};
  TableReading reading = {};
};

/// The first file of a table whose files are opened one by one. The columns of later files must
/// match it.
struct TableModel {
  std::shared_ptr<const TableFile> file;
  std::string name;  ///< display name in messages
  std::vector<PartitionColumn> partitions;
};

/// The files to open as a table, and the columns and rows to read.
struct TableRequest {
  enum class Format : uint8_t { kParquet, kArrow };
  Format format = Format::kParquet;
  bool is_list = false;
  /// For a list: paths or URLs, all in one store; no character is special.
  std::vector<std::string> names;
  TableSelection selection;
  /// If set, the files must have exactly this model's columns. Any difference is InvalidArgument
  /// and names both files, as between the files of one table.
  std::shared_ptr<const TableModel> model = nullptr;
};

/// Opens files as one table. `at` is a pattern (`*`, `?`, `[a-z]`, `**`, `{000..099}`), a folder, a
/// file, or the place of a list's first file. Lists the files, reads all their indices, checks that
/// they have one schema, and evaluates the filter.
///
/// Ids number the rows of all files, in byte order of their keys, regardless of the filter. So the
/// index of a file without matching rows is read too, but none of its rows. Partition folders
/// (`date=2026-01-01/`) below the pattern's first wildcard, or below the folder, are columns.
Result<std::shared_ptr<const ChunkSource>> open_table(StoreAndPath at, const TableRequest& request,
                                                      const TableCodecs& codecs, std::stop_token stop);

/// The same for files that have already been found.
Result<std::shared_ptr<const ChunkSource>> open_table_files(DataFiles files, const TableRequest& request,
                                                            const TableCodecs& codecs, std::stop_token stop);

/// The first file of a table, as a model for other files.
std::shared_ptr<const TableModel> model_of(const ChunkSource& table);

/// Opens tables in memory as one, in order. `warnings` is as UniteInput::warnings. The tables are
/// not read a second time with masks, so `filter` is Unsupported unless nulls are masked.
Result<std::shared_ptr<const ChunkSource>> open_memory_tables(std::vector<std::shared_ptr<const TableFile>> tables,
                                                              const TableSelection& selection,
                                                              const TableCodecs& codecs, std::stop_token stop,
                                                              DataWarnings* warnings = nullptr);

}  // namespace forebay
