#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/columns.h"

namespace forebay {

/// Where rows lie: packed memory of their chunks.
using RowPointers = std::span<const uint8_t* const>;

/// How a chunk lies in memory while batches take rows out of it in random order. Its fields of known shape stand row by row, one
/// row's side by side, so that a row is one place in memory and not as many as there are fields; the others stay columns.
class PackedRows {
 public:
  /// For columns of this schema.
  explicit PackedRows(const Schema& schema);

  /// Schema of packed columns: one field of `stride()` bytes a row (absent where no field has a known shape), then the others.
  const Schema& schema() const { return packed_schema_; }
  size_t stride() const { return stride_; }

  /// Bytes that pack() puts side by side for so many rows; 0 where it copies nothing.
  size_t packed_bytes(int64_t rows) const { return parts_.size() > 1 ? stride_ * static_cast<size_t>(rows) : 0; }
  /// Columns of the schema given → the same rows, packed: into `memory`, which has at least packed_bytes().
  Columns pack(const Columns& columns, Buffer memory) const;

  /// Rows out of packed memory: part p of row i goes to place i of slots[p], or, where `places` is not empty, to place places[i].
  void gather(RowPointers rows, std::span<uint8_t* const> slots, std::span<const uint32_t> places = {}) const;

  /// The fields of known shape, in the order in which their bytes stand in a row.
  struct Part {
    size_t field = 0;   ///< in the schema given
    size_t offset = 0;  ///< in a row
    size_t bytes = 0;
  };
  const std::vector<Part>& parts() const { return parts_; }
  /// The others: index in the schema given and in the packed one.
  struct Apart {
    size_t field = 0, column = 0;
  };
  const std::vector<Apart>& apart() const { return apart_; }

  /// One row of packed columns as a record of the schema given, sharing their memory.
  Record row(const Columns& packed, int64_t row) const;

 private:
  void put_together(const Columns& columns, uint8_t* out) const;

  Schema schema_, packed_schema_;
  std::vector<Part> parts_;
  std::vector<Apart> apart_;
  size_t stride_ = 0;
  bool padded_ = false;
};

}  // namespace forebay
