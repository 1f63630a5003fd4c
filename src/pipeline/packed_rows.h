#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/columns.h"

namespace forebay {

/// Pointers to packed rows in the memory of their chunks.
using RowPointers = std::span<const uint8_t* const>;

/// The memory layout of a chunk from which batches copy rows in random order. The fields of known
/// shape are stored row by row, so that reading a row touches one place in memory and not one for
/// each field. The other fields remain columns. Immutable.
class PackedRows {
 public:
  /// `schema`: that of the columns before packing.
  explicit PackedRows(const Schema& schema);

  /// Schema of packed columns: one field of `stride()` bytes a row, absent if no field has a known
  /// shape, and then the other fields.
  const Schema& schema() const { return packed_schema_; }
  size_t stride() const { return stride_; }

  /// Bytes that pack() writes for `rows` rows. 0 if it copies nothing.
  size_t packed_bytes(int64_t rows) const { return parts_.size() > 1 ? stride_ * static_cast<size_t>(rows) : 0; }
  /// Packs columns of the constructor's schema into `memory`, which has at least packed_bytes().
  Columns pack(const Columns& columns, Buffer memory) const;

  /// Copies rows out of packed memory. Part p of row i goes to index i of slots[p], or to index
  /// destinations[i] if `destinations` is not empty.
  void gather(RowPointers rows, std::span<uint8_t* const> slots, std::span<const uint32_t> destinations = {}) const;

  /// A field of known shape. parts() has them in the order of their bytes in a row.
  struct Part {
    size_t field = 0;   ///< index in the constructor's schema
    size_t offset = 0;  ///< offset in a row
    size_t bytes = 0;
  };
  const std::vector<Part>& parts() const { return parts_; }
  /// A field that stays a column, since its rows differ in size.
  struct UnpackedField {
    size_t field = 0;   ///< index in the constructor's schema
    size_t column = 0;  ///< index in schema()
  };
  const std::vector<UnpackedField>& unpacked() const { return unpacked_; }

  /// One row of packed columns as a record of the constructor's schema. It shares their memory.
  Record row(const Columns& packed, int64_t row) const;

 private:
  void pack_rows(const Columns& columns, uint8_t* out) const;

  Schema schema_, packed_schema_;
  std::vector<Part> parts_;
  std::vector<UnpackedField> unpacked_;
  size_t stride_ = 0;
  bool padded_ = false;
};

}  // namespace forebay
