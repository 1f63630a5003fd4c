#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/table_codec.h"
#include "format/table/partitions.h"
#include "format/table/table_shelf.h"
#include "format/table/united_schema.h"
#include "store/store.h"

namespace forebay {

/// One file of a table, or one table in memory.
struct TablePart {
  std::string key;       ///< in the store
  uint64_t size = 0;     ///< of the file
  uint64_t version = 0;  ///< of the object; 0: not known
  std::shared_ptr<const TableFile> file;
  std::string name_in_memory = {};  ///< what messages call a table that is no file
  ColumnTypes types = {};           ///< what columns of the file are read as
};

/// A group of rows that is not empty.
struct TableChunk {
  uint32_t part = 0;
  uint32_t group = 0;
};

/// What stands where a partition folder says null.
struct PartitionNull {
  bool allowed = false;
  int64_t integer = 0;
  std::string text;
};

/// Rows of which a filter knows nothing, because what it looks at is damaged: they are bad.
struct UndecidedRows {
  std::map<size_t, Status> chunks;  ///< all rows of these
  std::map<int64_t, Status> rows;   ///< by id
};

/// A table whose indices have been read: files, and the chunks of their rows. Immutable once made; shared by the sources that give
/// different fields of it.
struct TableData {
  std::shared_ptr<Store> store;  ///< null for tables in memory
  std::string base;              ///< see DataFiles
  std::string group_word;        ///< "row group"
  std::vector<TablePart> parts;
  std::shared_ptr<const TableShelf> shelf;  ///< of their indices; null for tables in memory
  std::vector<PartitionColumn> partitions;
  std::vector<PartitionNull> partition_nulls;
  UnitedSchema schema;
  std::vector<TableChunk> chunks;
  std::vector<int64_t> begins;                ///< of the chunks' ids; one more than chunks
  std::vector<int64_t> part_begins;           ///< id of each part's first row
  std::optional<std::vector<uint64_t>> kept;  ///< ChunkSource::kept_rows()
  UndecidedRows undecided;                    ///< of the filter
  std::string decoded_by;                     ///< codec and way of treating nulls
  Hash128 version;

  /// Finds the chunks. Corrupt where the numbers of rows make no sense, OutOfBudget where there are more groups than memory for them.
  Status find_chunks();
  int64_t rows(size_t chunk) const { return begins[chunk + 1] - begins[chunk]; }
  std::string part_name(size_t part) const;
  /// "train/part-3.parquet, row group 5".
  std::string chunk_name(size_t chunk) const;
  uint64_t index_bytes() const;
};

/// In words, without a doubt: "null=0, 'a'=1.5". For identities.
std::string null_policy_text(const NullPolicy& nulls);

}  // namespace forebay
