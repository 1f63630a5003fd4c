#include "base/schema.h"

#include <fmt/format.h>

namespace forebay {

std::string_view Field::type_word() const {
  switch (kind) {
    case FieldKind::kTensor: return dtype_name(dtype);
    case FieldKind::kBytes: return "bytes";
    case FieldKind::kText: return "text";
    case FieldKind::kBytesList: return "lists of bytes";
    case FieldKind::kTextList: return "lists of text";
    case FieldKind::kAny: return "any";
  }
  return "";
}

bool Field::same_type(const Field& other) const {
  return kind == other.kind && (kind != FieldKind::kTensor || (dtype == other.dtype && shape == other.shape));
}

std::string Field::to_string() const {
  if (kind != FieldKind::kTensor) return fmt::format("{}: {}", name, type_word());
  return fmt::format("{}: {} {}", name, type_word(), shape.to_string());
}

std::optional<size_t> Schema::find(std::string_view name) const {
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].name == name) return i;
  }
  return std::nullopt;
}

std::string Schema::to_string() const {
  std::string text;
  for (const Field& field : fields_) text += (text.empty() ? "" : ", ") + field.to_string();
  return text;
}

std::string Schema::names() const {
  std::string text;
  for (const Field& field : fields_) text += (text.empty() ? "" : ", ") + field.name;
  return text;
}

}  // namespace forebay
