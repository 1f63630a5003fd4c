#include "study/rate_text.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "base/byte_size.h"

namespace forebay {

std::optional<double> parse_rate(std::string_view text) {
  if (text.ends_with("/s")) text.remove_suffix(2);
  constexpr std::pair<std::string_view, double> kBits[] = {
      {"Tbit", 1e12}, {"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}};
  double bytes_per_unit = 0;
  std::string_view number = text;
  for (const auto& [name, bits] : kBits) {
    // "bit" is the last one, since each of the others ends with it.
    if (!number.ends_with(name)) continue;
    number.remove_suffix(name.size());
    bytes_per_unit = bits / 8;
    break;
  }
  while (number.ends_with(' ')) number.remove_suffix(1);
  double value = 0;
  const char* const end = number.data() + number.size();
  const auto [parsed, error] = std::from_chars(number.data(), end, value);
  if (error == std::errc() && parsed == end && std::isfinite(value) && value >= 0)
    return value * (bytes_per_unit > 0 ? bytes_per_unit : 1);
  // A unit of bits without a number is not parsed as a size in bytes.
  if (bytes_per_unit > 0) return std::nullopt;
  const std::optional<uint64_t> bytes = parse_byte_size(text);
  return bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
}

}  // namespace forebay
