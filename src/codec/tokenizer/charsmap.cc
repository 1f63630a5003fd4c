#include "codec/tokenizer/charsmap.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "base/utf8.h"
#include "codec/tokenizer/file_parts.h"

namespace forebay {

namespace {

std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<int8_t, 256> value;
  value.fill(-1);
  for (size_t i = 0; i < kDigits.size(); ++i) value[static_cast<uint8_t>(kDigits[i])] = static_cast<int8_t>(i);
  if (text.size() % 4 != 0) return {};
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t held = 0, bits = 0;
  for (const char c : text) {
    const int8_t digit = value[static_cast<uint8_t>(c)];
    if (digit < 0) return {};
    held = held << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 0xff);
  }
  return bytes;
}

// A unit of the double array, in darts-clone's layout.
bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t value_of(uint32_t unit) { return unit & 0x7fffffff; }
uint32_t label_of(uint32_t unit) { return unit & 0x800000ff; }
// Bit 9 says that the offset is in units of 256, which shifts it by eight more bits.
uint32_t offset_of(uint32_t unit) { return unit >> 10 << (unit >> 6 & 8); }

}  // namespace

Result<Charsmap> Charsmap::parse(std::string_view base64) {
  using tokenizer_file::malformed_tokenizer;
  const std::optional<std::string> bytes = from_base64(base64);
  if (!bytes) return malformed_tokenizer("its charsmap is no base64");
  uint32_t trie_bytes = 0;
  if (bytes->size() < sizeof trie_bytes) return malformed_tokenizer("its charsmap is too short");
  std::memcpy(&trie_bytes, bytes->data(), sizeof trie_bytes);
  if (trie_bytes % 4 != 0 || trie_bytes == 0 || trie_bytes > bytes->size() - 4)
    return malformed_tokenizer("its charsmap is shorter than it says");
  Charsmap made;
  made.units_.resize(trie_bytes / 4);
  std::memcpy(made.units_.data(), bytes->data() + 4, trie_bytes);
  made.texts_ = bytes->substr(4 + trie_bytes);
  if (!is_utf8(made.texts_)) return malformed_tokenizer("its charsmap has texts that are no UTF-8");
  for (size_t at = 0; at < made.texts_.size();) {
    const size_t end = std::min(made.texts_.find('\0', at), made.texts_.size());
    if (end - at > kMaxText)
      return tokenizer_file::unsupported_tokenizer(fmt::format("has a charsmap with a text of {} bytes", end - at));
    at = end + 1;
  }
  return made;
}

std::optional<std::string_view> Charsmap::replacement_of(std::string_view chunk) const {
  uint32_t at = offset_of(units_[0]);
  for (const char c : chunk) {
    const uint32_t byte = static_cast<uint8_t>(c);
    if (byte == 0) return {};
    // A child is at its parent's offset XOR its byte, which is also its label.
    at ^= byte;
    if (at >= units_.size()) return {};  // only if the table is damaged
    const uint32_t unit = units_[at];
    if (label_of(unit) != byte) return {};
    at ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (at >= units_.size()) return {};
    const uint32_t begin = value_of(units_[at]);
    if (begin >= texts_.size()) return {};
    const std::string_view rest = std::string_view(texts_).substr(begin);
    return rest.substr(0, std::min(rest.find('\0'), rest.size()));
  }
  return {};
}

}  // namespace forebay
