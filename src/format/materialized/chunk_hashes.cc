#include "format/materialized/chunk_hashes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/hash.h"

namespace forebay {

namespace {

void hash_offsets(Hasher& hasher, const int64_t* offsets, int64_t rows) {
  const int64_t first = offsets[0];
  // Gives the same hash as the loop below, in one call.
  if (first == 0) return hasher.update(offsets, static_cast<size_t>(rows + 1) * sizeof(int64_t));
  for (int64_t row = 0; row <= rows; ++row) hasher.update_value(offsets[row] - first);
}

}  // namespace

uint64_t column_hash(const Field& field, const ColumnValues& column, int64_t rows) {
  if (field.fixed_shape()) return hash128(column.values.data(), static_cast<size_t>(rows) * row_bytes(field)).low;
  Hasher hasher;
  const size_t each = item_bytes(field);
  const auto begin = static_cast<size_t>(column.offset()[0]), end = static_cast<size_t>(column.offset()[rows]);
  hasher.update(column.values.data() + begin * each, (end - begin) * each);
  hash_offsets(hasher, column.offset(), rows);
  return hasher.digest().low;
}

Result<Buffer> write_chunk_hashes(std::span<const StoredField> fields, std::span<const Columns> chunks,
                                  const TableCodecs& codecs) {
  Columns index;
  index.rows = static_cast<int64_t>(chunks.size());
  for (const StoredField& stored : fields) {
    Field field;
    field.name = stored.field.name, field.dtype = DType::kUint64;
    Buffer values = Buffer::allocate(chunks.size() * sizeof(uint64_t));
    for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
      const size_t column = *chunks[chunk].schema.find(field.name);
      reinterpret_cast<uint64_t*>(values.data())[chunk] =
          column_hash(chunks[chunk].schema[column], chunks[chunk].values[column], chunks[chunk].rows);
    }
    index.schema.push_back(std::move(field));
    index.values.push_back({std::move(values), {}});
  }
  FOREBAY_ASSIGN(WrittenTable written, codecs.write_arrow_file({&index, 1}, ""));
  return written.bytes.together();
}

ChunkHashes::ChunkHashes(std::span<const StoredField> fields) {
  for (const StoredField& stored : fields) names_.push_back(stored.field.name);
}

Status ChunkHashes::add(const Columns& index) {
  const size_t before = hashes_.size();
  hashes_.resize(before + names_.size() * static_cast<size_t>(index.rows));
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto column = index.schema.find(names_[i]);
    const Field* const field = column ? &index.schema[*column] : nullptr;
    if (field == nullptr || field->dtype != DType::kUint64 || !field->fixed_shape() || field->shape.rank() != 0)
      return corrupt(fmt::format("its index has no hashes of the column '{}'", names_[i]));
    const auto* from = reinterpret_cast<const uint64_t*>(index.values[*column].values.data());
    for (size_t row = 0; row < static_cast<size_t>(index.rows); ++row)
      hashes_[before + row * names_.size() + i] = from[row];
  }
  return {};
}

Status ChunkHashes::check(int64_t chunk, const Columns& columns) const {
  for (size_t i = 0; i < columns.schema.size(); ++i) {
    const auto name = std::find(names_.begin(), names_.end(), columns.schema[i].name);
    if (name == names_.end()) continue;
    const uint64_t written =
        hashes_[static_cast<size_t>(chunk) * names_.size() + static_cast<size_t>(name - names_.begin())];
    if (column_hash(columns.schema[i], columns.values[i], columns.rows) != written)
      return corrupt(fmt::format("the column '{}' is damaged: its checksum is another; materialise it again", *name));
  }
  return {};
}

}  // namespace forebay
