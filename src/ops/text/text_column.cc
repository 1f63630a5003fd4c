#include "ops/text/text_column.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/utf8.h"

namespace forebay {

namespace {
bool is_text_field(const Field& field) { return field.kind == FieldKind::kText || field.kind == FieldKind::kBytes; }
}  // namespace

std::vector<size_t> check_texts(const std::vector<std::string>& names, std::string_view op, const Schema& schema,
                                Problems& problems) {
  if (names.empty()) problems.add("no field is named", "name a field of text");
  std::vector<size_t> fields;
  for (const size_t index : check_fields(names, schema, problems)) {
    const Field& field = schema[index];
    if (std::ranges::find(fields, index) != fields.end()) {
      problems.add(fmt::format("the field '{}' is named twice", field.name), "name it once");
    } else if (field.kind != FieldKind::kAny && !is_text_field(field)) {
      problems.add(fmt::format("the field '{}' is {}, and .{} works on text", field.name, field.type_word(), op),
                   "name a field of text or bytes");
    } else {
      fields.push_back(index);
    }
  }
  return fields;
}

Result<size_t> find_text(const Columns& columns, const std::string& name) {
  const auto index = columns.schema.find(name);
  if (!index) return unsupported(fmt::format("there is no field '{}' here", name));
  if (is_text_field(columns.schema[*index])) return *index;
  return unsupported(fmt::format("the field '{}' is {}; text is needed", name, columns.schema[*index].type_word()));
}

Status not_utf8_error(std::span<const uint8_t> text) {
  return corrupt(
      fmt::format("byte {} of the text begins no UTF-8; decode it before, in .map", first_not_utf8(text).value_or(0)));
}

Buffer buffer_of_text(const std::string& text) {
  Buffer buffer = Buffer::allocate(text.size());
  if (!text.empty()) std::memcpy(buffer.data(), text.data(), text.size());
  return buffer;
}

}  // namespace forebay
