#include "base/utf8.h"

#include <cstring>

#include "base/utf8_vector.h"

namespace forebay {

namespace {

constexpr size_t kAsciiBlock = 64;

bool is_ascii(const uint8_t* block) {
  uint64_t words[kAsciiBlock / sizeof(uint64_t)], all = 0;
  std::memcpy(words, block, kAsciiBlock);
  for (const uint64_t word : words) all |= word;
  return (all & 0x8080808080808080u) == 0;
}

bool continues(uint8_t byte) { return (byte & 0xc0) == 0x80; }

/// Length of a character and range of its second byte, given by its first byte. Later bytes may be
/// 80 to BF.
struct LeadByte {
  size_t length = 0;  ///< of the character; 0: not a first byte
  uint8_t low = 0x80, high = 0xbf;
};

LeadByte lead_byte(uint8_t first) {
  if (first < 0x80) return {1};
  if (first >= 0xc2 && first <= 0xdf) return {2};
  if (first >= 0xe0 && first <= 0xef)
    return {3, static_cast<uint8_t>(first == 0xe0 ? 0xa0 : 0x80), static_cast<uint8_t>(first == 0xed ? 0x9f : 0xbf)};
  if (first >= 0xf0 && first <= 0xf4)
    return {4, static_cast<uint8_t>(first == 0xf0 ? 0x90 : 0x80), static_cast<uint8_t>(first == 0xf4 ? 0x8f : 0xbf)};
  return {};
}

/// Length of the character at the beginning of `bytes`; 0 if it is invalid.
size_t character_bytes(std::span<const uint8_t> bytes) {
  const LeadByte lead = lead_byte(bytes[0]);
  if (lead.length > bytes.size()) return 0;
  if (lead.length > 1 && (bytes[1] < lead.low || bytes[1] > lead.high)) return 0;
  for (size_t i = 2; i < lead.length; ++i) {
    if (!continues(bytes[i])) return 0;
  }
  return lead.length;
}

Utf8Check chosen_check() {
  for (const Utf8Check check : {utf8_check_avx2(), utf8_check_neon()}) {
    if (check != nullptr) return check;
  }
  return [](std::span<const uint8_t> bytes) { return !first_not_utf8(bytes).has_value(); };
}

}  // namespace

std::optional<size_t> first_not_utf8(std::span<const uint8_t> bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    if (at + kAsciiBlock <= bytes.size() && is_ascii(bytes.data() + at)) {
      at += kAsciiBlock;
      continue;
    }
    const size_t length = character_bytes(bytes.subspan(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

bool is_utf8(std::span<const uint8_t> bytes) {
  static const Utf8Check check = chosen_check();
  return check(bytes);
}

// Checks all strings at once, because most are short. Then no character may cross from one string
// into the next.
bool all_utf8(std::span<const uint8_t> bytes, std::span<const int64_t> offsets) {
  if (!is_utf8(bytes)) return false;
  bool cut = false;
  for (const int64_t offset : offsets) {
    const auto at = static_cast<size_t>(offset);
    cut |= at < bytes.size() && continues(bytes[at]);
  }
  return !cut;
}

bool is_utf8(std::string_view text) {
  return is_utf8(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

void append_utf8(uint32_t code, std::string& text) {
  const auto put = [&text](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xe0 | code >> 12);
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
    }
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

}  // namespace forebay
