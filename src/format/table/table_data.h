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
#include "format/table/table_index_cache.h"
#include "format/table/united_schema.h"
#include "store/store.h"

namespace forebay {

/// One file of a table, or one table in memory.
struct TablePart {
  std::string key;       ///< key in the store
  uint64_t size = 0;     ///< bytes of the file
  uint64_t version = 0;  ///< version of the object; 0 if not known
  std::shared_ptr<const TableFile> file;
  std::string name_in_memory = {};  ///< display name of a table that is not a file
  ColumnTypes types = {};           ///< types as which columns of the file are read
};

/// A group of rows. It is not empty.
struct TableChunk {
  uint32_t part = 0;
  uint32_t group = 0;
};

/// The value of rows whose partition folder means null.
struct PartitionNull {
  bool allowed = false;
  int64_t integer = 0;
  std::string text;
};

/// Rows that a filter could not decide because the data it reads is damaged. They are bad rows.
struct UndecidedRows {
  std::map<size_t, Status> chunks;  ///< chunks whose rows are all undecided
  std::map<int64_t, Status> rows;   ///< single rows, by id
};

/// A table whose indices have been read: its files, and the chunks of their rows. Immutable once
/// made. The sources that read different fields of it share it.
struct TableData {
  std::shared_ptr<Store> store;  ///< null for tables in memory
  std::string base;              ///< as DataFiles::base
  std::string group_word;        ///< a chunk in messages, such as "row group"
  std::vector<TablePart> parts;
  std::shared_ptr<const TableIndexCache> cache;  ///< opened indices; null for tables in memory
  std::vector<PartitionColumn> partitions;
  std::vector<PartitionNull> partition_nulls;
  UnitedSchema schema;
  std::vector<TableChunk> chunks;
  std::vector<int64_t> begins;                ///< first id of each chunk, then the size
  std::vector<int64_t> part_begins;           ///< id of each part's first row
  std::optional<std::vector<uint64_t>> kept;  ///< ChunkSource::kept_rows()
  UndecidedRows undecided;                    ///< rows that the filter could not decide
  std::string decoded_by;                     ///< codec and null policy
  Hash128 version;

  /// Finds the chunks. Corrupt if the row counts are inconsistent, OutOfBudget if there are more
  /// groups than memory for them.
  Status find_chunks();
  int64_t rows(size_t chunk) const { return begins[chunk + 1] - begins[chunk]; }
  std::string part_name(size_t part) const;
  /// Such as "train/part-3.parquet, row group 5".
  std::string chunk_name(size_t chunk) const;
  uint64_t index_bytes() const;
};

/// Describes a null policy unambiguously, such as "null=0, 'a'=1.5". Used for identities.
std::string null_policy_text(const NullPolicy& nulls);

}  // namespace forebay
