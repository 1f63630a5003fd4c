#pragma once

#include <cstdint>
#include <string_view>

namespace forebay {

/// The character classes in the patterns of tokenizers: \p{L}, \p{N}, \s, and all others.
enum class CharClass : uint8_t { kOther, kLetter, kNumber, kSpace };

CharClass char_class(uint32_t code);

/// A character and the number of its bytes in UTF-8.
struct Utf8Char {
  uint32_t code = 0;
  uint32_t length = 0;
};
/// The character at `at` < text.size(). `text` is UTF-8.
Utf8Char char_at(std::string_view text, size_t at);

}  // namespace forebay
