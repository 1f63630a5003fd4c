#include "format/joined/joined_part.h"

#include <algorithm>

#include <fmt/format.h>

namespace forebay {

bool JoinedPart::fetches() const { return std::ranges::any_of(source->schema(), &Field::fetched); }

Schema joined_schema(const std::vector<JoinedPart>& parts) {
  Schema schema;
  for (const JoinedPart& part : parts) {
    for (Field field : part.source->schema()) {
      field.name = part.prefix + field.name;
      schema.push_back(std::move(field));
    }
  }
  return schema;
}

Hash128 joined_version(const std::vector<JoinedPart>& parts, int64_t size) {
  Hasher hasher;
  hasher.update_value(size);
  for (const JoinedPart& part : parts) {
    // The length keeps the name apart from what follows it.
    hasher.update(fmt::format("{} {} {}\n", part.name.size(), part.name, part.source->version().to_string()));
    for (int64_t id = 0; part.rows && id < size; ++id) hasher.update_value(part.row(id));
  }
  return hasher.digest();
}

uint64_t joined_index_bytes(const std::vector<JoinedPart>& parts) {
  uint64_t bytes = 0;
  for (const JoinedPart& part : parts) bytes += part.source->index_bytes() + (part.rows ? part.rows->bytes() : 0);
  return bytes;
}

std::string joined_key(const std::vector<JoinedPart>& parts, int64_t id) {
  std::string others;
  for (const JoinedPart& part : parts) {
    if (&part == &parts.front()) continue;
    others += fmt::format("{}{}: {}", others.empty() ? "" : ", ", part.name, part.source->key(part.row(id)));
  }
  return fmt::format("{} ({})", parts.front().source->key(parts.front().row(id)), others);
}

Status check_joined_intact(const std::vector<JoinedPart>& parts) {
  for (const JoinedPart& part : parts) FOREBAY_RETURN_IF_ERROR(part.source->check_intact());
  return {};
}

}  // namespace forebay
