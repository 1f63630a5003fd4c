#include "format/table/table_data.h"

#include <algorithm>

#include <fmt/format.h>

namespace forebay {

namespace {

// Their sum cannot overflow before it is checked.
constexpr int64_t kMaxRowsOfAPart = int64_t{1} << 56;
// Their places and first ids take a gigabyte.
constexpr int64_t kMaxGroups = int64_t{1} << 26;

std::string value_text(const NullPolicy::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<int64_t>(&value)) return fmt::format("int {}", *number);
  // Hexadecimal, so that different numbers always have different texts.
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("float {:a}", *number);
  // Includes the length, so that no text can imitate the boundary of two entries.
  if (const auto* text = std::get_if<std::string>(&value)) return fmt::format("text {}:{}", text->size(), *text);
  return "none";
}

}  // namespace

std::string null_policy_text(const NullPolicy& nulls) {
  std::string text = "null=" + (nulls.kind == NullPolicy::Kind::kError  ? "error"
                                : nulls.kind == NullPolicy::Kind::kMask ? "mask"
                                                                        : value_text(nulls.value));
  for (const std::string& column : nulls.masked) text += fmt::format(", {}:{}=mask", column.size(), column);
  for (const auto& [column, value] : nulls.by_column)
    text += fmt::format(", {}:{}={}", column.size(), column, value_text(value));
  return text;
}

Status TableData::find_chunks() {
  begins = {0};
  for (size_t part = 0; part < parts.size(); ++part) {
    part_begins.push_back(begins.back());
    const TableFile& file = *parts[part].file;
    const int64_t groups = file.groups();
    if (groups < 0 || groups > kMaxGroups || static_cast<int64_t>(chunks.size()) + groups > kMaxGroups) {
      return out_of_budget(
                 fmt::format("{} {}s are more than there is memory for; write larger ones", groups, group_word),
                 static_cast<uint64_t>(std::max<int64_t>(groups, 0)) * sizeof(TableChunk))
          .with_key(part_name(part));
    }
    for (int64_t group = 0; group < groups; ++group) {
      const int64_t count = file.rows(group);
      if (count < 0 || count > kMaxRowsOfAPart || begins.back() > kMaxRowsOfAPart) {
        return corrupt(fmt::format("{} {} claims {} rows; restore the file, or leave it out", group_word, group, count))
            .with_key(part_name(part));
      }
      if (count == 0) continue;
      chunks.push_back({static_cast<uint32_t>(part), static_cast<uint32_t>(group)});
      begins.push_back(begins.back() + count);
    }
  }
  return {};
}

std::string TableData::part_name(size_t part) const {
  return store ? store->display_name(parts[part].key) : parts[part].name_in_memory;
}

std::string TableData::chunk_name(size_t chunk) const {
  return fmt::format("{}, {} {}", part_name(chunks[chunk].part), group_word, chunks[chunk].group);
}

uint64_t TableData::index_bytes() const {
  uint64_t bytes = chunks.capacity() * sizeof(TableChunk) + begins.capacity() * sizeof(int64_t) +
                   parts.capacity() * (sizeof(TablePart) + 2 * sizeof(int64_t));
  for (const TablePart& part : parts) bytes += part.key.capacity() + part.file->index_bytes();
  for (const PartitionColumn& column : partitions)
    bytes += column.texts.capacity() * sizeof(column.texts[0]) + column.integers.capacity() * sizeof(int64_t);
  if (cache) bytes += cache->open_bytes();
  return bytes + (kept ? kept->capacity() * sizeof(uint64_t) : 0);
}

}  // namespace forebay
