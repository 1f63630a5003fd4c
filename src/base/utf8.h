#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace forebay {

/// Whether the bytes are UTF-8 as in RFC 3629: no surrogates, nothing beyond U+10FFFF, no overlong
/// forms. Linear.
bool is_utf8(std::span<const uint8_t> bytes);
bool is_utf8(std::string_view text);

/// Position of the first invalid character's first byte, for messages. Empty if the bytes are
/// valid.
std::optional<size_t> first_not_utf8(std::span<const uint8_t> bytes);

/// Whether each of the strings that lie end to end in `bytes` is UTF-8. `offsets` holds the
/// beginning of each string, and the end of the last one.
bool all_utf8(std::span<const uint8_t> bytes, std::span<const int64_t> offsets);

/// Appends a character, 0 to U+10FFFF. Surrogates are not checked: they are written like any other
/// character.
void append_utf8(uint32_t code, std::string& text);

}  // namespace forebay
