#include "loader/samples/sample_lengths.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/convert.h"
#include "base/record.h"
#include "base/whole_number.h"

namespace forebay {

namespace {

template <class T>
T element(const Tensor& values, int64_t row) {
  T value;
  std::memcpy(&value, values.buffer.data() + static_cast<size_t>(row) * sizeof(T), sizeof(T));
  return value;
}

double number(const Tensor& values, int64_t row) {
  switch (values.dtype) {
    case DType::kFloat16: return half_to_float(element<uint16_t>(values, row));
    case DType::kBfloat16: return bfloat16_to_float(element<uint16_t>(values, row));
    case DType::kFloat32: return element<float>(values, row);
    case DType::kFloat64: return element<double>(values, row);
    default: break;
  }
  const size_t bytes = dtype_size(values.dtype);
  const std::optional<int64_t> whole = whole_number(
      Value::of(Tensor{values.dtype, Shape{}, values.buffer.slice(static_cast<size_t>(row) * bytes, bytes)}));
  return static_cast<double>(whole.value_or(-1));
}

}  // namespace

double told_by(const BatchField& field, int64_t row) {
  if (field.kind != BatchField::Kind::kDense) {
    const auto* const offsets = field.offsets.data<int64_t>() + row;
    return static_cast<double>(offsets[1] - offsets[0]);
  }
  if (field.values.shape.rank() == 1) return number(field.values, row);
  // Padded rows have their own lengths.
  return static_cast<double>(field.lengths.empty() ? field.values.shape[1] : field.lengths[static_cast<size_t>(row)]);
}

float kept_length(double length) {
  if (length == 0) return 1;
  const auto nearest = static_cast<float>(length);
  return nearest < length ? std::nextafter(nearest, std::numeric_limits<float>::infinity()) : nearest;
}

Status add_lengths(const Batch& batch, std::vector<float>& lengths) {
  const BatchField& field = batch.fields.front();
  for (int64_t row = 0; row < batch.size(); ++row) {
    const double length = told_by(field, row);
    const float kept = kept_length(length);
    if (!std::isfinite(kept) || kept < 0)
      return invalid_argument(fmt::format("the field '{}' is {}; a length is 0 or above", field.name, length))
          .with_sample(batch.ids[static_cast<size_t>(row)]);
    // A pass follows the order of the selection, so a position is an index.
    lengths[static_cast<size_t>(batch.positions[static_cast<size_t>(row)])] = kept;
  }
  return {};
}

}  // namespace forebay
