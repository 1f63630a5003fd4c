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

/// What to take from tables.
struct TableSelection {
  std::optional<std::vector<std::string>> columns = {};  ///< all if absent
  RowFilter filter = {};
  TableReading reading = {};
};

/// A file that others come after, which are to be one table with it though each is opened by itself.
struct TableModel {
  std::shared_ptr<const TableFile> file;
  std::string name;  ///< what messages call it
  std::vector<PartitionColumn> partitions;
};

struct TableRequest {
  enum class Format : uint8_t { kParquet, kArrow };
  Format format = Format::kParquet;
  bool is_list = false;
  std::vector<std::string> names;  ///< of a list: paths or URLs, all of one store, in which nothing is special
  TableSelection selection;
  /// Of files: its columns are theirs. What differs is InvalidArgument and names both files, as between the files of one table.
  std::shared_ptr<const TableModel> model = nullptr;
};

/// Opens files as one table. `at`: a pattern (`*`, `?`, `[a-z]`, `**`, `{000..099}`), a folder or a file, or where the first of the
/// list is. Lists them, reads all their indices, checks that they have one schema, and decides the filter. Ids number the
/// rows of all files, in byte order of their keys, whatever the filter: so the index of a file that the filter leaves out is read too,
/// but none of its rows. Partition folders (`date=2026-01-01/`) below the pattern's first wildcard or the folder are columns.
Result<std::shared_ptr<const ChunkSource>> open_table(StoreAndPath at, const TableRequest& request,
                                                      const TableCodecs& codecs, std::stop_token stop);

/// The same of files that have been found.
Result<std::shared_ptr<const ChunkSource>> open_table_files(DataFiles files, const TableRequest& request,
                                                            const TableCodecs& codecs, std::stop_token stop);

/// The first file of a table of files, as a model for others.
std::shared_ptr<const TableModel> model_of(const ChunkSource& table);

/// Tables in memory, one after the other. `warnings`: as UniteInput::warnings. They are not read again, so `filter` is Unsupported unless nulls are masked.
Result<std::shared_ptr<const ChunkSource>> open_memory_tables(std::vector<std::shared_ptr<const TableFile>> tables,
                                                              const TableSelection& selection,
                                                              const TableCodecs& codecs, std::stop_token stop,
                                                              DataWarnings* warnings = nullptr);

}  // namespace forebay
