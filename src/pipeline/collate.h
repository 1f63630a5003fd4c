#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/schema.h"
#include "forebay/batch.h"
#include "pipeline/field_rows.h"

namespace forebay {

/// The layout of one field of a batch, computed from the values of its rows. For fields whose row
/// shape the plan does not know.
struct Collation {
  BatchField::Kind kind = BatchField::Kind::kDense;
  DType dtype = DType::kUint8;
  Shape row_shape;               ///< kDense: shape of a row; kRagged: the same without the first axis
  size_t value_bytes = 0;        ///< bytes of all values
  size_t strings = 0;            ///< lists of strings: number of strings in all rows
  size_t row_bytes = 0;          ///< kDense: bytes of a row
  std::optional<double> pad;     ///< rows are filled up to row_shape with this value
  bool pads_to_longest = false;  ///< row_shape follows the longest row; the batch has `lengths`

  /// kRagged, and kDense and padded: bytes of one element of a row's first axis.
  size_t item_bytes() const {
    const Shape item = kind == BatchField::Kind::kDense ? without_first(row_shape) : row_shape;
    return dtype_size(dtype) * static_cast<size_t>(item.elements());
  }
  bool string_list() const { return kind == BatchField::Kind::kBytesList || kind == BatchField::Kind::kTextList; }
  /// Bytes of `offsets` and of `string_offsets`. 0 if the field has none.
  size_t offset_bytes(size_t rows) const { return kind == BatchField::Kind::kDense ? 0 : (rows + 1) * sizeof(int64_t); }
  size_t string_offset_bytes() const { return string_list() ? (strings + 1) * sizeof(int64_t) : 0; }
  uint64_t nbytes(size_t rows) const { return value_bytes + offset_bytes(rows) + string_offset_bytes(); }
};

/// The memory for one field of a batch, with the sizes that its Collation says.
struct CollationMemory {
  Buffer values;
  Buffer offsets = {};
  Buffer string_offsets = {};
};

/// The sample of a value, for messages.
struct SampleName {
  int64_t id = 0;
  std::string key;
};
/// Returns the sample of the i-th value.
using SampleOf = std::function<SampleName(size_t)>;

/// Computes the layout of a field from the values of its rows. Tensors of one shape are stacked.
/// Tensors that differ only in their first axis become ragged unless the field is padded; a single
/// picture and sound never do. Bytes, text and lists of them are joined. If the values do not fit
/// together, the error is InvalidArgument and names the field, two shapes and two samples.
Result<Collation> plan_collation(const std::string& name, const Field& field, const std::vector<const Value*>& values,
                                 const SampleOf& sample_of = {});

/// The bytes of one row of a field. They belong to another object.
using RowBytes = std::span<const uint8_t>;
/// Like the above, for rows of columns: lists, bytes, text, and lists of strings (each a
/// StringList).
Result<Collation> plan_collation(const Field& field, std::span<const RowBytes> rows, const SampleOf& sample_of = {});

/// The bytes of each value.
std::vector<RowBytes> rows_of(const std::vector<const Value*>& values);

/// Rows of a field that are copied together.
struct CollationPiece {
  size_t begin = 0, end = 0;  ///< rows
  size_t value_at = 0;        ///< bytes of values before these rows
  size_t strings_at = 0;      ///< lists of strings: number of strings before these rows
};
/// Divides all rows into pieces of about `piece_bytes` bytes.
std::vector<CollationPiece> cut(const Collation& plan, std::span<const RowBytes> rows, size_t piece_bytes);

/// Creates the field in `memory`. Its values are written by collate().
BatchField lay_out(const Collation& plan, size_t rows, const CollationMemory& memory);
/// Copies a piece of `rows` to its place in `out`, which lay_out() has created. Several threads may
/// copy different pieces at once.
void collate(const Collation& plan, std::span<const RowBytes> rows, const CollationPiece& piece, BatchField& out);
/// Lays out the field and copies all rows.
BatchField collate(const Collation& plan, std::span<const RowBytes> rows, const CollationMemory& memory);

}  // namespace forebay
