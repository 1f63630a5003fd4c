#include "base/byte_size.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

namespace forebay {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<uint64_t> unit_of(std::string unit) {
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (unit.empty() || unit == "b") return 1;
  const size_t power = std::string_view("kmgt").find(unit.front());
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = std::string_view(unit).substr(1);
  const bool binary = rest == "ib" || rest == "i";
  if (!binary && rest != "b" && !rest.empty()) return std::nullopt;
  uint64_t bytes = 1;
  for (size_t i = 0; i <= power; ++i) bytes *= binary ? 1024 : 1000;
  return bytes;
}

// Exact for any number of digits.
std::optional<uint64_t> whole_bytes(std::string_view digits, uint64_t unit) {
  uint64_t number = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc()) return std::nullopt;
  if (number > uint64_t{INT64_MAX} / unit) return std::nullopt;
  return number * unit;
}

}  // namespace

std::optional<uint64_t> parse_byte_size(std::string_view text) {
  text = trimmed(text);
  const std::string_view number = text.substr(0, std::min(text.find_first_not_of("0123456789."), text.size()));
  const std::optional<uint64_t> unit = unit_of(std::string(trimmed(text.substr(number.size()))));
  if (!unit || number.empty()) return std::nullopt;
  if (number.find('.') == std::string_view::npos) return whole_bytes(number, *unit);
  double value = 0;
  const char* const end = number.data() + number.size();
  const auto [parsed, error] = std::from_chars(number.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || parsed != end) return std::nullopt;
  value *= static_cast<double>(*unit);
  return value < 0x1p63 ? std::optional(static_cast<uint64_t>(value)) : std::nullopt;
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
