#include "base/byte_size.h"

#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace forebay {
namespace {

std::optional<double> unit_of(std::string unit) {
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (unit.empty() || unit == "b") return 1;
  const size_t power = std::string_view("kmgt").find(unit.front());
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = std::string_view(unit).substr(1);
  if (rest == "ib" || rest == "i") return std::pow(1024.0, static_cast<double>(power) + 1);
  if (rest == "b" || rest.empty()) return std::pow(1000.0, static_cast<double>(power) + 1);
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> parse_byte_size(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  const std::optional<double> unit = unit_of(std::string(rest));
  if (!unit || number * *unit >= 0x1p63) return std::nullopt;
  return static_cast<uint64_t>(number * *unit);
}

std::string format_byte_size(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  // 1023.95 would be printed as "1024.0".
  for (; value >= 1023.95 && unit < 4; ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, (const char*[]){"B", "KiB", "MiB", "GiB", "TiB"}[unit]);
}

}  // namespace forebay
