#include "loader/describe/source_description.h"

#include <string>

#include "base/unit_source.h"

namespace forebay {

namespace {

// What a row's elements are; how many there are is the shape's to say.
std::string element_word(const Field& field) {
  if (field.kind == FieldKind::kTextList) return "text";
  if (field.kind == FieldKind::kBytesList) return "bytes";
  return std::string(field.type_word());
}

}  // namespace

std::vector<FieldDescription> describe_fields(const Source& source) {
  std::vector<FieldDescription> fields;
  const auto* units = source.as_units();
  for (const Field& field : source.schema()) {
    const size_t index = fields.size();
    FieldDescription described{field.name, element_word(field), {}};
    if (field.kind == FieldKind::kTensor) described.shape.assign(field.shape.begin(), field.shape.end());
    if (field.string_list()) described.shape = {Shape::kUnknown};
    if (units != nullptr) {
      described.time = units->time_name(index);
      described.of_folder = units->is_of_folder(index);
      described.is_mask = units->is_mask(index);
    }
    fields.push_back(std::move(described));
  }
  return fields;
}

std::vector<int64_t> row_group_begins(const Source& source) {
  std::vector<int64_t> begins;
  const auto* units = source.as_units();
  for (int64_t unit = 0; units != nullptr && unit <= units->units(); ++unit) begins.push_back(units->unit_begin(unit));
  return begins;
}

std::vector<uint64_t> row_group_bytes(const Source& source) {
  std::vector<uint64_t> bytes;
  const auto* units = source.as_units();
  for (int64_t unit = 0; units != nullptr && unit < units->units(); ++unit)
    bytes.push_back(units->unit_cost(unit).decoded_bytes);
  return bytes;
}

}  // namespace forebay
