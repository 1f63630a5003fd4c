#include "pipeline/collate.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/convert.h"

namespace forebay {

namespace {

bool is_text(FieldKind kind) { return kind == FieldKind::kText || kind == FieldKind::kBytes; }

std::string describe(const Value& value) {
  if (value.kind == FieldKind::kBytes) return "bytes";
  if (value.kind == FieldKind::kText) return "text";
  if (value.kind == FieldKind::kAny) return "missing";
  return fmt::format("{} {}", dtype_name(value.dtype()), value.shape().to_string());
}

Status of_sample(Status status, const SampleOf& sample_of, size_t at) {
  if (!sample_of) return status;
  const SampleName here = sample_of(at);
  return std::move(status).with_key(here.key).with_sample(here.id);
}

// The value at `at` does not go together with the first one.
Status mixed(const std::string& name, const std::vector<const Value*>& values, size_t at, const SampleOf& sample_of) {
  const std::string first = describe(*values.front()), other = describe(*values[at]);
  const auto text = [&](const std::string& others) {
    return invalid_argument(fmt::format(
        "the field '{}' is {} here and {} in {} of the same batch; one batch needs one shape and type: resize, crop "
        "or .pad() it, or use .batch(1)",
        name, other, first, others));
  };
  if (!sample_of) return text("another sample");
  const SampleName before = sample_of(0);
  return of_sample(text(fmt::format("sample {} ('{}')", before.id, before.key)), sample_of, at);
}

// `at`: the row that is the longest.
Result<Shape> padded_shape(const std::string& name, const Field& field, int64_t longest, size_t at,
                           const SampleOf& sample_of) {
  if (field.pad_length > 0 && longest > field.pad_length) {
    return of_sample(invalid_argument(fmt::format("a row of '{}' has {} values, more than the {} it is padded to", name,
                                                  longest, field.pad_length)),
                     sample_of, at);
  }
  return Shape{field.pad_length > 0 ? field.pad_length : longest};
}

Result<Collation> plan_tensors(const std::string& name, const Field& field, const std::vector<const Value*>& values,
                               const SampleOf& sample_of) {
  Collation plan;
  const Value& first = *values.front();
  plan.dtype = first.dtype();
  plan.row_shape = first.shape();
  bool same = true;
  int64_t longest = 0, total = 0;
  size_t longest_at = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const Value* value = values[i];
    const Shape shape = value->shape();
    if (value->kind != FieldKind::kTensor || value->dtype() != plan.dtype || shape.rank() != plan.row_shape.rank()) {
      return mixed(name, values, i, sample_of);
    }
    same &= shape == plan.row_shape;
    if (shape.rank() == 1) {
      if (shape[0] > longest) longest_at = i;
      longest = std::max(longest, shape[0]);
      total += shape[0];
    }
    if (shape.rank() != 1 && !same) return mixed(name, values, i, sample_of);
  }
  const size_t item = dtype_size(plan.dtype);
  const bool ragged_field = field.kind == FieldKind::kTensor && !field.shape.fully_known();
  if (field.pad_value && plan.row_shape.rank() == 1) {
    FOREBAY_ASSIGN(plan.row_shape, padded_shape(name, field, longest, longest_at, sample_of));
    plan.pad = field.pad_value;
    plan.pads_to_longest = field.pad_length == 0;
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

Result<Collation> plan_collation(const std::string& name, const Field& field, const std::vector<const Value*>& values,
                                 const SampleOf& sample_of) {
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
    return of_sample(invalid_argument(fmt::format("the user's function did not give the field '{}'", name)), sample_of,
                     0);
  }
  if (!is_text(kind)) return plan_tensors(name, field, values, sample_of);
  plan.kind = kind == FieldKind::kText ? BatchField::Kind::kText : BatchField::Kind::kBytes;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]->kind != kind) return mixed(name, values, i, sample_of);
    plan.value_bytes += values[i]->bytes.size();
  }
  return plan;
}

Result<Collation> plan_collation(const Field& field, std::span<const RowBytes> rows, const SampleOf& sample_of) {
  Collation plan;
  size_t total = 0, longest = 0, longest_at = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() > longest) longest_at = i;
    total += rows[i].size();
    longest = std::max(longest, rows[i].size());
  }
  plan.kind = field.kind == FieldKind::kText    ? BatchField::Kind::kText
              : field.kind == FieldKind::kBytes ? BatchField::Kind::kBytes
                                                : BatchField::Kind::kRagged;
  plan.value_bytes = total;
  if (field.kind != FieldKind::kTensor) return plan;
  plan.dtype = field.dtype;
  if (!field.pad_value) return plan;
  const size_t item = dtype_size(field.dtype);
  plan.kind = BatchField::Kind::kDense;
  plan.pad = field.pad_value;
  plan.pads_to_longest = field.pad_length == 0;
  FOREBAY_ASSIGN(plan.row_shape,
                 padded_shape(field.name, field, static_cast<int64_t>(longest / item), longest_at, sample_of));
  plan.row_bytes = static_cast<size_t>(plan.row_shape.elements()) * item;
  plan.value_bytes = plan.row_bytes * rows.size();
  return plan;
}

BatchField collate(const Collation& plan, const std::vector<const Value*>& values, Buffer memory, Buffer offsets) {
  std::vector<RowBytes> rows;
  rows.reserve(values.size());
  for (const Value* value : values) {
    const Buffer& from = value->kind == FieldKind::kTensor ? value->tensor.buffer : value->bytes;
    rows.emplace_back(from.data(), value->nbytes());
  }
  return collate(plan, rows, std::move(memory), std::move(offsets));
}

BatchField collate(const Collation& plan, std::span<const RowBytes> rows, Buffer memory, Buffer offsets) {
  BatchField out;
  out.kind = plan.kind;
  out.values.dtype = plan.dtype;
  out.values.buffer = memory;
  const size_t item = dtype_size(plan.dtype);
  const auto count = static_cast<int64_t>(rows.size());
  if (plan.kind == BatchField::Kind::kDense) {
    out.values.shape.push_back(count);
    for (int64_t dim : plan.row_shape) out.values.shape.push_back(dim);
  } else {
    out.values.shape.push_back(static_cast<int64_t>(plan.value_bytes / item));
    out.offsets = {DType::kInt64, Shape{count + 1}, offsets};
  }
  uint8_t* to = memory.data();
  int64_t* offset = plan.kind == BatchField::Kind::kDense ? nullptr : out.offsets.data<int64_t>();
  constexpr size_t kAhead = 16;  // rows of a table lie anywhere in memory
  for (size_t i = 0; i < rows.size(); ++i) {
    const RowBytes row = rows[i];
    __builtin_prefetch(rows[std::min(i + kAhead, rows.size() - 1)].data(), 0, 2);
    if (!row.empty()) std::memcpy(to, row.data(), row.size());
    if (offset == nullptr) {
      if (plan.pad) fill(plan.dtype, *plan.pad, to + row.size(), (plan.row_bytes - row.size()) / item);
      to += plan.row_bytes;
      if (plan.pads_to_longest) out.lengths.push_back(static_cast<int64_t>(row.size() / item));
    } else {
      *offset++ = static_cast<int64_t>(static_cast<size_t>(to - memory.data()) / item);
      to += row.size();
    }
  }
  if (offset != nullptr) *offset = static_cast<int64_t>(plan.value_bytes / item);
  return out;
}

}  // namespace forebay
