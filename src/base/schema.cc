#include "base/schema.h"

#include <fmt/format.h>

namespace forebay {

std::string Field::to_string() const {
  switch (kind) {
    case FieldKind::kTensor: return fmt::format("{}: {} {}", name, dtype_name(dtype), shape.to_string());
    case FieldKind::kBytes: return name + ": bytes";
    case FieldKind::kText: return name + ": text";
    case FieldKind::kAny: return name + ": any";
  }
  return name;
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
