#include "stream/number_offset.h"

#include <charconv>

#include <fmt/format.h>

namespace forebay {

std::optional<uint64_t> number_of_offset(std::string_view offset, uint64_t least) {
  uint64_t number = 0;
  // Each number has one form: offsets are compared as text, for equality and by length.
  if (offset.size() > 1 && offset[0] == '0') return std::nullopt;
  const auto [end, error] = std::from_chars(offset.data(), offset.data() + offset.size(), number);
  if (error != std::errc() || end != offset.data() + offset.size() || number < least) return std::nullopt;
  return number;
}

Status check_number_offset(std::string_view offset, const std::string& of, uint64_t least) {
  if (number_of_offset(offset, least)) return {};
  return invalid_argument(
      fmt::format("'{}' is no offset of {}, which are whole numbers from {} on", offset.substr(0, 100), of, least));
}

int compare_number_offsets(std::string_view a, std::string_view b) {
  // In the shortest form a longer number is larger, and numbers of equal length are ordered by
  // digits.
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

}  // namespace forebay
