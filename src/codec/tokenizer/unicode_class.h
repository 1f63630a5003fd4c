#pragma once

#include <cstdint>
#include <string_view>

namespace forebay {

/// What the patterns of tokenizers tell apart: \p{L}, \p{N}, \s, and everything else.
enum class CharClass : uint8_t { kOther, kLetter, kNumber, kSpace };

CharClass char_class(uint32_t code);

struct Utf8Char {
  uint32_t code = 0;
  uint32_t length = 0;
};
/// The character that begins at `at` < text.size(). `text` is UTF-8.
Utf8Char char_at(std::string_view text, size_t at);

}  // namespace forebay
