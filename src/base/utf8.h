#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace forebay {

/// As RFC 3629 has it: no surrogates, nothing beyond U+10FFFF, no longer form than needed. Linear.
bool is_utf8(std::span<const uint8_t> bytes);
bool is_utf8(std::string_view text);

/// Where the first byte stands that is_utf8() does not bear: the first of the character that is none. For messages.
std::optional<size_t> first_not_utf8(std::span<const uint8_t> bytes);

/// Whether each of the strings that lie end to end in `bytes` is UTF-8; `offsets`: where they begin, and the end.
bool all_utf8(std::span<const uint8_t> bytes, std::span<const int64_t> offsets);

/// Appends a character, 0 to U+10FFFF. What is none, a surrogate, is for the caller to look for: it is written as if it were one.
void append_utf8(uint32_t code, std::string& text);

}  // namespace forebay
