#include "pipeline/collate.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/convert.h"

namespace forebay {

namespace {

bool is_text(FieldKind kind) { return kind == FieldKind::kText || kind == FieldKind::kBytes; }

Status mixed(const std::string& name, const std::string& a, const std::string& b) {
  return invalid_argument(
      fmt::format("the field '{}' is {} in one sample and {} in another of the same batch; one batch needs one "
                  "shape and type: resize, crop or .pad() it, or use .batch(1)",
                  name, a, b));
}

std::string describe(const Value& value) {
  if (value.kind == FieldKind::kBytes) return "bytes";
  if (value.kind == FieldKind::kText) return "text";
  if (value.kind == FieldKind::kAny) return "missing";
  return fmt::format("{} {}", dtype_name(value.dtype()), value.shape().to_string());
}

Result<Collation> plan_tensors(const std::string& name, const Field& field, const std::vector<const Value*>& values) {
  Collation plan;
  const Value& first = *values.front();
  plan.dtype = first.dtype();
  plan.row_shape = first.shape();
  bool same = true;
  int64_t longest = 0, total = 0;
  for (const Value* value : values) {
    const Shape shape = value->shape();
    if (value->kind != FieldKind::kTensor || value->dtype() != plan.dtype || shape.rank() != plan.row_shape.rank()) {
      return mixed(name, describe(first), describe(*value));
    }
    same &= shape == plan.row_shape;
    if (shape.rank() == 1) {
      longest = std::max(longest, shape[0]);
      total += shape[0];
    }
    if (shape.rank() != 1 && !same) return mixed(name, describe(first), describe(*value));
  }
  const size_t item = dtype_size(plan.dtype);
  const bool ragged_field = field.kind == FieldKind::kTensor && !field.shape.fully_known();
  if (field.pad_value && plan.row_shape.rank() == 1) {
    if (field.pad_length > 0 && longest > field.pad_length) {
      return invalid_argument(fmt::format("a row of '{}' has {} values, more than the {} it is padded to", name,
                                          longest, field.pad_length));
    }
    plan.pad = field.pad_value;
    plan.row_shape = Shape{field.pad_length > 0 ? field.pad_length : longest};
  } else if (plan.row_shape.rank() == 1 && (!same || ragged_field)) {
    // A field announced as ragged is ragged in every batch, also where the lengths happen to agree.
    plan.kind = BatchField::Kind::kRagged;
    plan.row_shape = Shape{};
    plan.value_bytes = static_cast<size_t>(total) * item;
    return plan;
  }
  plan.row_bytes = static_cast<size_t>(plan.row_shape.elements()) * item;
  plan.value_bytes = plan.row_bytes * values.size();
  return plan;
}

}  // namespace

Result<Collation> plan_collation(const std::string& name, const Field& field, const std::vector<const Value*>& values) {
  Collation plan;
  if (values.empty()) {  // every row was skipped
    plan.kind = field.kind == FieldKind::kBytes  ? BatchField::Kind::kBytes
                : field.kind == FieldKind::kText ? BatchField::Kind::kText
                : field.kind == FieldKind::kTensor && field.shape.rank() == 1 && !field.pad_value
                    ? BatchField::Kind::kRagged
                    : BatchField::Kind::kDense;
    plan.dtype = field.dtype;
    plan.row_shape = plan.kind == BatchField::Kind::kDense ? field.shape : Shape{};
    for (size_t i = 0; i < plan.row_shape.rank(); ++i) plan.row_shape[i] = std::max<int64_t>(plan.row_shape[i], 0);
    return plan;
  }
  const FieldKind kind = values.front()->kind;
  if (kind == FieldKind::kAny) {
    return invalid_argument(fmt::format("the user's function did not give the field '{}'", name));
  }
  if (!is_text(kind)) return plan_tensors(name, field, values);
  plan.kind = kind == FieldKind::kText ? BatchField::Kind::kText : BatchField::Kind::kBytes;
  for (const Value* value : values) {
    if (value->kind != kind) return mixed(name, describe(*values.front()), describe(*value));
    plan.value_bytes += value->bytes.size();
  }
  return plan;
}

BatchField collate(const Collation& plan, const std::vector<const Value*>& values, Buffer memory, Buffer offsets) {
  BatchField out;
  out.kind = plan.kind;
  out.values.dtype = plan.dtype;
  out.values.buffer = memory;
  const auto rows = static_cast<int64_t>(values.size());
  if (plan.kind == BatchField::Kind::kDense) {
    out.values.shape.push_back(rows);
    for (int64_t dim : plan.row_shape) out.values.shape.push_back(dim);
  } else {
    out.values.shape.push_back(static_cast<int64_t>(plan.value_bytes / dtype_size(plan.dtype)));
    out.offsets = {DType::kInt64, Shape{rows + 1}, offsets};
  }
  uint8_t* to = memory.data();
  for (int64_t row = 0; row < rows; ++row) {
    const Value& value = *values[static_cast<size_t>(row)];
    const Buffer& from = value.kind == FieldKind::kTensor ? value.tensor.buffer : value.bytes;
    const size_t bytes = value.nbytes();
    if (bytes > 0) std::memcpy(to, from.data(), bytes);
    if (plan.kind == BatchField::Kind::kDense) {
      if (plan.pad) fill(plan.dtype, *plan.pad, to + bytes, (plan.row_bytes - bytes) / dtype_size(plan.dtype));
      to += plan.row_bytes;
    } else {
      out.offsets.data<int64_t>()[row] =
          static_cast<int64_t>(static_cast<size_t>(to - memory.data()) / dtype_size(plan.dtype));
      to += bytes;
    }
  }
  if (plan.kind != BatchField::Kind::kDense) {
    out.offsets.data<int64_t>()[rows] = static_cast<int64_t>(plan.value_bytes / dtype_size(plan.dtype));
  }
  return out;
}

}  // namespace forebay
