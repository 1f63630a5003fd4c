#include "loader/describe/source_description.h"

#include <string>

#include "base/chunk_source.h"

namespace forebay {

namespace {

// Type of a row's elements. The shape gives their number.
std::string element_word(const Field& field) {
  if (field.kind == FieldKind::kTextList) return "text";
  if (field.kind == FieldKind::kBytesList) return "bytes";
  return std::string(field.type_word());
}

}  // namespace

std::vector<FieldDescription> describe_fields(const Source& source) {
  std::vector<FieldDescription> fields;
  const auto* chunks = source.as_chunks();
  for (const Field& field : source.schema()) {
    const size_t index = fields.size();
    FieldDescription described{field.name, element_word(field), {}};
    if (field.kind == FieldKind::kTensor) described.shape.assign(field.shape.begin(), field.shape.end());
    if (field.string_list()) described.shape = {Shape::kUnknown};
    if (chunks != nullptr) {
      described.time = chunks->time_name(index);
      described.of_folder = chunks->is_of_folder(index);
      described.is_mask = chunks->is_mask(index);
    }
    fields.push_back(std::move(described));
  }
  return fields;
}

std::vector<int64_t> row_group_begins(const Source& source) {
  std::vector<int64_t> begins;
  const auto* chunks = source.as_chunks();
  for (int64_t chunk = 0; chunks != nullptr && chunk <= chunks->chunks(); ++chunk)
    begins.push_back(chunks->chunk_begin(chunk));
  return begins;
}

std::vector<uint64_t> row_group_bytes(const Source& source) {
  std::vector<uint64_t> bytes;
  const auto* chunks = source.as_chunks();
  for (int64_t chunk = 0; chunks != nullptr && chunk < chunks->chunks(); ++chunk)
    bytes.push_back(chunks->chunk_cost(chunk).decoded_bytes);
  return bytes;
}

}  // namespace forebay
