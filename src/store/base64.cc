#include "store/base64.h"

#include <algorithm>
#include <string_view>

namespace forebay {

std::string base64(std::span<const uint8_t> bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(bytes.size() - i, 3);
    uint32_t word = 0;
    for (size_t j = 0; j < 3; ++j) word = word << 8 | (j < count ? bytes[i + j] : 0);
    // RFC 4648, section 4: one byte gives two letters and two bytes give three; "=" fills up to
    // four.
    for (size_t j = 0; j < 4; ++j) text += j <= count ? kLetters[word >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

}  // namespace forebay
