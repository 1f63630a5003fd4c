#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/columns.h"
#include "base/table_codec.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// What the values of a column are told apart by, wherever its offsets begin: the low half of their hash. Formats of tables have no checksum of their
/// own, or leave parts out.
uint64_t column_hash(const Field& field, const ColumnValues& column, int64_t rows);

/// The index of a shard of chunks: an Arrow file with a row for each, and a column of uint64 for each field, of the same name.
Result<Buffer> write_chunk_hashes(std::span<const StoredField> fields, std::span<const Columns> chunks,
                                  const TableCodecs& codecs);

/// Those of all chunks of a table, chunk by chunk and field by field.
class ChunkHashes {
 public:
  explicit ChunkHashes(std::span<const StoredField> fields);
  /// Those of the next shard. Corrupt where it is not such a file.
  Status add(const Columns& index);
  size_t chunks() const { return names_.empty() ? 0 : hashes_.size() / names_.size(); }
  uint64_t bytes() const { return hashes_.size() * sizeof(uint64_t); }
  /// Corrupt, naming the column, where the chunk's values are not those that were written. Columns that nobody wrote are passed over.
  Status check(int64_t chunk, const Columns& columns) const;

 private:
  std::vector<std::string> names_;
  std::vector<uint64_t> hashes_;
};

}  // namespace forebay
