#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/columns.h"
#include "base/table_codec.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// Checksum of a column: the low half of the hash of its values. It does not depend on where the
/// column's offsets begin. Table formats have no checksum of their own, or do not cover everything.
uint64_t column_hash(const Field& field, const ColumnValues& column, int64_t rows);

/// Writes the index of a shard of chunks: an Arrow file with one row per chunk, and a uint64 column
/// for each field, named like it.
Result<Buffer> write_chunk_hashes(std::span<const StoredField> fields, std::span<const Columns> chunks,
                                  const TableCodecs& codecs);

/// The checksums of all chunks of a table, by chunk and field.
class ChunkHashes {
 public:
  explicit ChunkHashes(std::span<const StoredField> fields);
  /// Appends the index of the next shard. Corrupt if it is not such a file.
  Status add(const Columns& index);
  size_t chunks() const { return names_.empty() ? 0 : hashes_.size() / names_.size(); }
  uint64_t bytes() const { return hashes_.size() * sizeof(uint64_t); }
  /// Corrupt, naming the column, if the chunk's values differ from those written. Columns without a
  /// checksum are skipped.
  Status check(int64_t chunk, const Columns& columns) const;

 private:
  std::vector<std::string> names_;
  std::vector<uint64_t> hashes_;
};

}  // namespace forebay
