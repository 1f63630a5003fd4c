#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

namespace forebay {

/// Parses the whole text as a decimal number. Returns nothing for blanks, other bases and numbers
/// that T cannot hold.
template <std::integral T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && parsed == end ? std::optional(value) : std::nullopt;
}

}  // namespace forebay
