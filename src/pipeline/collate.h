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

/// How values whose size was not known before become one field of a batch.
struct Collation {
  BatchField::Kind kind = BatchField::Kind::kDense;
  DType dtype = DType::kUint8;
  Shape row_shape;            ///< kDense: of a row; kRagged: without the first axis
  size_t value_bytes = 0;     ///< of `values`
  size_t strings = 0;         ///< lists of strings: in all rows
  size_t row_bytes = 0;       ///< kDense and padded: of a row
  std::optional<double> pad;  ///< rows are filled up to row_shape with this value
  bool pads_to_longest = false;

  /// kRagged, and kDense and padded: bytes of one element of a row's first axis.
  size_t item_bytes() const {
    const Shape item = kind == BatchField::Kind::kDense ? without_first(row_shape) : row_shape;
    return dtype_size(dtype) * static_cast<size_t>(item.elements());
  }
  bool string_list() const { return kind == BatchField::Kind::kBytesList || kind == BatchField::Kind::kTextList; }
  /// Of `offsets` and `string_offsets`; 0 where there are none.
  size_t offset_bytes(size_t rows) const { return kind == BatchField::Kind::kDense ? 0 : (rows + 1) * sizeof(int64_t); }
  size_t string_offset_bytes() const { return string_list() ? (strings + 1) * sizeof(int64_t) : 0; }
  uint64_t nbytes(size_t rows) const { return value_bytes + offset_bytes(rows) + string_offset_bytes(); }
};

/// Where a field of a batch is put together: as many bytes as its Collation says.
struct CollationMemory {
  Buffer values;
  Buffer offsets = {};
  Buffer string_offsets = {};
};

/// Says which sample the i-th value is of.
struct SampleName {
  int64_t id = 0;
  std::string key;
};
using SampleOf = std::function<SampleName(size_t)>;

/// Looks at all values of a field. Fixed shapes stack; tensors that differ in their first axis alone become ragged, unless the field is
/// padded (pictures and sound do not); bytes, text and lists of them are joined. InvalidArgument, naming the field, the two shapes and the two samples, where they do not go
/// together.
Result<Collation> plan_collation(const std::string& name, const Field& field, const std::vector<const Value*>& values,
                                 const SampleOf& sample_of = {});

/// The bytes of one row of a field, wherever they lie.
using RowBytes = std::span<const uint8_t>;
/// The same for rows that come from columns: lists, bytes, text, and lists of strings (each a StringList).
Result<Collation> plan_collation(const Field& field, std::span<const RowBytes> rows, const SampleOf& sample_of = {});

/// The bytes of each value.
std::vector<RowBytes> rows_of(const std::vector<const Value*>& values);

/// Rows of a field that are copied together.
struct CollationPiece {
  size_t begin = 0, end = 0;  ///< rows
  size_t value_at = 0;        ///< bytes of `values` before them
  size_t strings_at = 0;      ///< lists of strings: strings before them
};
/// All rows, in pieces of about so many bytes.
std::vector<CollationPiece> cut(const Collation& plan, std::span<const RowBytes> rows, size_t piece_bytes);

/// The field as it will be, in `memory`, which is not written yet.
BatchField lay_out(const Collation& plan, size_t rows, const CollationMemory& memory);
/// Copies a piece of the field's `rows` to its place in `out`, which was laid out. Pieces may be copied by different threads at once.
void collate(const Collation& plan, std::span<const RowBytes> rows, const CollationPiece& piece, BatchField& out);
/// The same with all rows.
BatchField collate(const Collation& plan, std::span<const RowBytes> rows, const CollationMemory& memory);

}  // namespace forebay
