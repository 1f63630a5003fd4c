#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

namespace forebay {

/// All of the text as a decimal number of type T: no blanks, no other bases, nothing that wraps around.
template <std::integral T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && parsed == end ? std::optional(value) : std::nullopt;
}

}  // namespace forebay
