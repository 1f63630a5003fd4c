#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/schema.h"
#include "forebay/batch.h"

namespace forebay {

/// How values whose size was not known before become one field of a batch.
struct Collation {
  BatchField::Kind kind = BatchField::Kind::kDense;
  DType dtype = DType::kUint8;
  Shape row_shape;            ///< kDense: of a row; kRagged: without the first axis
  size_t value_bytes = 0;     ///< of `values`
  size_t row_bytes = 0;       ///< kDense and padded: of a row
  std::optional<double> pad;  ///< rows are filled up to row_shape with this value
  bool pads_to_longest = false;
};

/// Says which sample the i-th value is of.
struct SampleName {
  int64_t id = 0;
  std::string key;
};
using SampleOf = std::function<SampleName(size_t)>;

/// Looks at all values of a field. Fixed shapes stack; rank-1 tensors of different lengths become ragged, unless the field is
/// padded; bytes and text are joined. InvalidArgument, naming the field, the two shapes and the two samples, where they do not go
/// together.
Result<Collation> plan_collation(const std::string& name, const Field& field, const std::vector<const Value*>& values,
                                 const SampleOf& sample_of = {});

/// The bytes of one row of a field, wherever they lie.
using RowBytes = std::span<const uint8_t>;
/// The same for rows that come from columns: lists, bytes and text.
Result<Collation> plan_collation(const Field& field, std::span<const RowBytes> rows, const SampleOf& sample_of = {});

/// Copies the values into `memory` (value_bytes) and `offsets` ((rows + 1) × int64; empty for kDense).
BatchField collate(const Collation& plan, const std::vector<const Value*>& values, Buffer memory, Buffer offsets);
BatchField collate(const Collation& plan, std::span<const RowBytes> rows, Buffer memory, Buffer offsets);

}  // namespace forebay
