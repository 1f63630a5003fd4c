#include "sound/tags.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace forebay {
namespace {

using TagBytes = std::span<const uint8_t>;

constexpr size_t kId3v1Bytes = 128, kExtendedId3Bytes = 227, kApeBytes = 32, kId3FooterBytes = 10;
constexpr size_t kLyricsEndBytes = 9, kLyricsSizeBytes = 6, kMaxOldLyrics = 5100;

/// True if `text` is `distance` bytes before the end. False for a distance that has no room for it,
/// as an absurd size in a tag gives one.
bool has_before_end(TagBytes bytes, size_t distance, std::string_view text) {
  return distance >= text.size() && bytes.size() >= distance &&
         std::memcmp(bytes.data() + bytes.size() - distance, text.data(), text.size()) == 0;
}

// ID3v2.4, section 3.1: seven bits per byte, so that no size looks like a frame.
size_t id3_size(TagBytes header) {
  size_t size = 0;
  for (size_t i = 6; i < 10; ++i) size = size << 7 | (header[i] & 0x7fu);
  return size;
}

size_t id3v1_bytes(TagBytes bytes) {
  if (!has_before_end(bytes, kId3v1Bytes, "TAG")) return 0;
  const TagBytes rest = bytes.first(bytes.size() - kId3v1Bytes);
  return kId3v1Bytes + (has_before_end(rest, kExtendedId3Bytes, "TAG+") ? kExtendedId3Bytes : 0);
}

size_t id3_footer_bytes(TagBytes bytes) {
  if (!has_before_end(bytes, kId3FooterBytes, "3DI")) return 0;
  const size_t size = id3_size(bytes.last(kId3FooterBytes)) + 2 * kId3FooterBytes;
  return has_before_end(bytes, size, "ID3") ? size : 0;
}

size_t ape_bytes(TagBytes bytes) {
  if (!has_before_end(bytes, kApeBytes, "APETAGEX")) return 0;
  const TagBytes footer = bytes.last(kApeBytes);
  const auto number = [&](size_t at) {
    return uint32_t{footer[at]} | uint32_t{footer[at + 1]} << 8 | uint32_t{footer[at + 2]} << 16 |
           uint32_t{footer[at + 3]} << 24;
  };
  // The size includes the footer; the highest flag tells whether there is a header as well.
  const size_t size = size_t{number(12)} + ((number(20) & 0x80000000u) != 0 ? kApeBytes : 0);
  return size >= kApeBytes && size <= bytes.size() ? size : 0;
}

size_t lyrics_bytes(TagBytes bytes) {
  constexpr size_t kEnds = kLyricsEndBytes + kLyricsSizeBytes;
  if (has_before_end(bytes, kLyricsEndBytes, "LYRICS200") && bytes.size() >= kEnds) {
    size_t size = 0;
    for (const uint8_t digit : bytes.last(kEnds).first(kLyricsSizeBytes)) size = size * 10 + (digit - '0') % 10;
    return has_before_end(bytes, size + kEnds, "LYRICSBEGIN") ? size + kEnds : 0;
  }
  if (!has_before_end(bytes, kLyricsEndBytes, "LYRICSEND")) return 0;
  // The first version has no size, so its beginning is searched.
  const TagBytes last = bytes.last(std::min(bytes.size(), kMaxOldLyrics + 2 * kLyricsEndBytes));
  const std::string_view text(reinterpret_cast<const char*>(last.data()), last.size());
  const size_t begin = text.rfind("LYRICSBEGIN");
  return begin == std::string_view::npos ? 0 : last.size() - begin;
}

}  // namespace

size_t tail_tag_bytes(TagBytes bytes) {
  TagBytes rest = bytes;
  while (!rest.empty()) {
    const size_t tag = std::max({id3v1_bytes(rest), id3_footer_bytes(rest), ape_bytes(rest), lyrics_bytes(rest)});
    if (tag == 0) break;
    rest = rest.first(rest.size() - tag);
  }
  return bytes.size() - rest.size();
}

}  // namespace forebay
