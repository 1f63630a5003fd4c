#include "loader/batch_fields.h"

#include <utility>

#include "base/columns.h"
#include "pipeline/field_rows.h"

namespace forebay {

namespace {

BatchFieldDescription dense(std::string name, DType dtype, Shape row) {
  return {std::move(name), BatchField::Kind::kDense, dtype, row};
}

BatchFieldDescription describe_tensor(const Field& field) {
  if (!is_ragged(field)) return dense(field.name, field.dtype, field.shape);
  const Shape item = without_first(field.shape);
  if (!field.pad_value) return {field.name, BatchField::Kind::kRagged, field.dtype, item};
  return dense(field.name, field.dtype, with_first(field.pad_length > 0 ? field.pad_length : Shape::kUnknown, item));
}

BatchFieldDescription describe_output(const OutputField& output) {
  const Field& field = output.field;
  // User code may give other types and shapes than announced, so only the name is promised.
  if (output.may_differ || field.optional) return {field.name, {}, {}, {}};
  switch (field.kind) {
    case FieldKind::kTensor: return describe_tensor(field);
    case FieldKind::kBytes: return {field.name, BatchField::Kind::kBytes, DType::kUint8, {}};
    case FieldKind::kText: return {field.name, BatchField::Kind::kText, DType::kUint8, {}};
    case FieldKind::kBytesList: return {field.name, BatchField::Kind::kBytesList, DType::kUint8, {}};
    case FieldKind::kTextList: return {field.name, BatchField::Kind::kTextList, DType::kUint8, {}};
    case FieldKind::kAny: break;
  }
  return {field.name, {}, {}, {}};
}

}  // namespace

namespace {

std::vector<BatchFieldDescription> describe_blocks(const PackingStep& packing,
                                                   const std::vector<OutputField>& outputs) {
  const Shape block{packing.sequences.block_length};
  std::vector<BatchFieldDescription> fields;
  for (const BlockField& field : packing.fields) {
    fields.push_back(dense(field.name, DType::kInt32, block));
    if (field.value != BlockValue::kElements) continue;
    const Field& of = outputs[field.output].field;
    // User code decides the type of its numbers.
    if (of.kind != FieldKind::kTensor) fields.back() = {field.name, {}, {}, block};
    if (of.kind == FieldKind::kTensor) fields.back().dtype = of.dtype;
  }
  if (const auto& segments = packing.segment_ends) {
    fields.push_back(dense(segments->ends, DType::kInt32, Shape{segments->entries}));
    if (segments->entries == 0) fields.back() = {segments->ends, BatchField::Kind::kRagged, DType::kInt32, {}};
    fields.push_back(dense(segments->longest, DType::kInt32, {}));
  }
  return fields;
}

std::vector<BatchFieldDescription> describe_changed(const PackingStep& packing) {
  std::vector<BatchFieldDescription> fields;
  for (const Field& field : packing.made) {
    const bool known = field.kind == FieldKind::kTensor;
    fields.push_back(known ? describe_tensor(field) : BatchFieldDescription{field.name, {}, {}, {}});
  }
  return fields;
}

}  // namespace

std::vector<BatchFieldDescription> describe_batch_fields(const ExecutionPlan& plan) {
  // Only user code knows the fields that it makes.
  if (!plan.batch_stages().empty()) return {};
  if (const auto& packing = plan.first().packing) {
    return packing->ops.empty() ? describe_blocks(*packing, plan.outputs()) : describe_changed(*packing);
  }
  std::vector<BatchFieldDescription> fields;
  for (const OutputField& output : plan.outputs()) fields.push_back(describe_output(output));
  return fields;
}

}  // namespace forebay
