#include "format/table/partitions.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr std::string_view kNullFolder = "__HIVE_DEFAULT_PARTITION__";

/// Decodes URL escapes. A '%' without two hexadecimal digits after it stands for itself.
std::string url_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    uint8_t byte = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::optional<int64_t> integer(std::string_view text) {
  int64_t value = 0;
  // "007" is the integer 7, as in Spark.
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && !text.empty();
  return all ? std::optional(value) : std::nullopt;
}

std::string names_of(const PartitionValues& values) {
  std::string text;
  for (const auto& [name, value] : values) text += (text.empty() ? "" : "/") + name + "=…";
  return text.empty() ? "none" : text;
}

void find_type(PartitionColumn& column) {
  column.is_integer = std::ranges::any_of(column.texts, [](const auto& text) { return text.has_value(); });
  for (const auto& text : column.texts) {
    const auto value = text ? integer(*text) : std::optional<int64_t>(0);
    column.is_integer = column.is_integer && value;
    column.integers.push_back(value.value_or(0));
  }
  if (!column.is_integer) column.integers.clear();
}

}  // namespace

PartitionValues partition_values(std::string_view path) {
  PartitionValues values;
  for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    const std::string_view folder = path.substr(0, slash);
    path.remove_prefix(slash + 1);
    const size_t equals = folder.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const std::string_view value = folder.substr(equals + 1);
    values.emplace_back(url_decoded(folder.substr(0, equals)),
                        value == kNullFolder ? std::nullopt : std::optional(url_decoded(value)));
  }
  return values;
}

bool PartitionColumn::has_nulls() const {
  return std::ranges::any_of(texts, [](const auto& text) { return !text; });
}

Result<std::vector<PartitionColumn>> partition_columns(const std::vector<std::string>& paths) {
  std::vector<PartitionColumn> columns;
  if (paths.empty()) return columns;
  const PartitionValues first = partition_values(paths.front());
  for (const auto& [name, value] : first) {
    if (std::ranges::any_of(columns, [&](const PartitionColumn& column) { return column.name == name; }))
      return invalid_argument(fmt::format("'{}' lies in two folders called '{}=…', one in the other", paths[0], name));
    columns.push_back({name, false, {}, {}});
  }
  for (const std::string& path : paths) {
    const PartitionValues values = partition_values(path);
    if (!std::ranges::equal(values, first, {}, [](auto& v) { return v.first; }, [](auto& v) { return v.first; })) {
      return invalid_argument(
          fmt::format("'{}' lies in folders for {}, '{}' in folders for {}; all files need the same, in the same order",
                      paths.front(), names_of(first), path, names_of(values)));
    }
    for (size_t i = 0; i < columns.size(); ++i) columns[i].texts.push_back(values[i].second);
  }
  for (PartitionColumn& column : columns) find_type(column);
  return columns;
}

}  // namespace forebay
