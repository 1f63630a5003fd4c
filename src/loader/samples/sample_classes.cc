#include "loader/samples/sample_classes.h"

#include <optional>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/record.h"
#include "base/whole_number.h"

namespace forebay {

int64_t class_of_text(std::string_view text) { return static_cast<int64_t>(hash128(text).low >> 1); }

bool SampleClasses::can_be_of(const Field& field) {
  if (field.kind == FieldKind::kText || field.kind == FieldKind::kBytes) return !field.string_list();
  return field.kind == FieldKind::kTensor && field.fixed_shape() && field.shape.rank() == 0 && is_whole(field.dtype);
}

void SampleClasses::set(int64_t index, int64_t label) {
  const auto [at, is_new] = known_.try_emplace(label, static_cast<uint32_t>(classes_.size()));
  if (is_new) classes_.push_back(label);
  numbers_[static_cast<size_t>(index)] = at->second;
}

Status SampleClasses::add(const Batch& batch) {
  const BatchField& field = batch.fields.front();
  const bool text = field.kind == BatchField::Kind::kText || field.kind == BatchField::Kind::kBytes;
  const size_t bytes = dtype_size(field.values.dtype);
  for (int64_t row = 0; row < batch.size(); ++row) {
    const int64_t index = batch.positions[static_cast<size_t>(row)];
    if (text) {
      const std::span<const uint8_t> value = field.row(row);
      set(index, class_of_text({reinterpret_cast<const char*>(value.data()), value.size()}));
      continue;
    }
    const std::optional<int64_t> number = whole_number(Value::of(
        Tensor{field.values.dtype, Shape{}, field.values.buffer.slice(static_cast<size_t>(row) * bytes, bytes)}));
    if (!number)
      return invalid_argument(
                 fmt::format("the field '{}' is neither a whole number nor a text, which tell classes", field.name))
          .with_sample(batch.ids[static_cast<size_t>(row)]);
    set(index, *number);
  }
  return {};
}

}  // namespace forebay
