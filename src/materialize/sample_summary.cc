#include "materialize/sample_summary.h"

#include <algorithm>
#include <span>
#include <utility>

#include "codec/image.h"
#include "materialize/batch_rows.h"

namespace forebay {

namespace {

constexpr uint64_t kSmallFixed = 64, kSmallOnAverage = 256;  // bytes of values that go to the index

void copy_declaration(const Field& declared, Field& field) {
  if (declared.kind == field.kind && declared.shape.rank() == field.shape.rank()) field.shape = declared.shape;
  field.image = declared.image;
  field.channels_first = declared.channels_first;
  field.layout_chosen = declared.layout_chosen;
  field.normalized = declared.normalized;
  field.pad_value = declared.pad_value;
  field.pad_length = declared.pad_length;
}

bool belongs_in_index(const Field& field, uint64_t mean_bytes) {
  // In a shard the strings of a list lie end to end, so a list is no single value there.
  if (field.string_list()) return true;
  if (field.fixed_shape()) return mean_bytes <= kSmallFixed;
  const bool list = field.kind == FieldKind::kTensor && field.shape.rank() == 1;
  return (field.kind != FieldKind::kTensor || list) && mean_bytes <= kSmallOnAverage;
}

}  // namespace

void SampleSummary::add(const Batch& batch) {
  if (batch.size() == 0) return;  // a sample that on_error left out
  for (const BatchField& field : batch.fields) {
    auto found = std::find_if(fields_.begin(), fields_.end(),
                              [&](const FieldSummary& summary) { return summary.field.name == field.name; });
    const bool first = found == fields_.end();
    if (first) found = fields_.insert(fields_.end(), {field_of(field), 0});
    if (first && field.kind == BatchField::Kind::kDense) found->shape = field.values.shape;
    add_value(field, *found);
  }
  samples_ += batch.size();
}

void SampleSummary::add_value(const BatchField& field, FieldSummary& summary) {
  if (summary.shape && !(*summary.shape == field.values.shape)) summary.shape.reset();
  const std::span<const uint8_t> value = field.row(0);
  summary.bytes += value.size();
  // A single value of another kind rules out a field of pictures.
  summary.pictures = summary.pictures && field.kind == BatchField::Kind::kBytes && looks_like_image(value);
}

uint64_t SampleSummary::bytes() const {
  uint64_t bytes = 0;
  for (const FieldSummary& summary : fields_) bytes += summary.bytes;
  return bytes;
}

StoredField SampleSummary::stored_field(const FieldSummary& summary, const Schema& inferred) const {
  StoredField stored{summary.field, false};
  Field& field = stored.field;
  const auto known = inferred.find(field.name);
  const bool of_user_code = !known || inferred[*known].kind == FieldKind::kAny;
  if (of_user_code && summary.shape)
    for (size_t i = 1; i < summary.shape->rank(); ++i) field.shape[i - 1] = (*summary.shape)[i];
  if (known) copy_declaration(inferred[*known], field);
  field.image = field.image || summary.pictures;
  stored.in_index = belongs_in_index(field, samples_ > 0 ? summary.bytes / static_cast<uint64_t>(samples_) : 0);
  return stored;
}

std::vector<StoredField> SampleSummary::fields(const Schema& inferred) const {
  std::vector<StoredField> fields;
  for (const FieldSummary& summary : fields_) fields.push_back(stored_field(summary, inferred));
  return fields;
}

}  // namespace forebay
