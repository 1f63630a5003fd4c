#include "format/joined/joined_part.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "format/object_lists.h"

namespace forebay {

bool JoinedPart::fetches() const { return std::ranges::any_of(source->schema(), &Field::fetched); }

const ObjectLists* JoinedPart::object_lists() const { return dynamic_cast<const ObjectLists*>(source.get()); }

Status number_draws(std::vector<JoinedPart>& parts, int64_t size) {
  if (std::ranges::none_of(parts, &JoinedPart::drawn)) return {};
  constexpr int64_t kMost = int64_t{1} << 62;
  int64_t combinations = std::max<int64_t>(size, 1);
  for (JoinedPart& part : parts) {
    part.count = part.drawn ? part.source->size() : size;
    if (!part.drawn) continue;
    if (part.count == 0)
      return invalid_argument(fmt::format("zip: the part '{}' has no samples that could be drawn", part.name));
    if (part.count > kMost / combinations)
      return invalid_argument(
          fmt::format("zip: the samples of '{}' and of the parts before it have more than 2^62 "
                      "combinations; draw from fewer parts",
                      part.name));
    part.stride = std::exchange(combinations, combinations * part.count);
  }
  return {};
}

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
