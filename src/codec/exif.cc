#include "codec/exif.h"

#include <string_view>

namespace forebay {
namespace {

constexpr uint16_t kOrientationTag = 0x0112;

/// Reads numbers of a TIFF structure in its byte order. The caller checks positions with has().
struct TiffReader {
  std::span<const uint8_t> bytes;
  bool big_endian = false;

  bool has(uint64_t offset, uint64_t count) const { return offset <= bytes.size() && count <= bytes.size() - offset; }
  uint32_t u16(size_t offset) const {
    const uint32_t a = bytes[offset], b = bytes[offset + 1];
    return big_endian ? a << 8 | b : b << 8 | a;
  }
  uint32_t u32(size_t offset) const {
    const uint32_t a = u16(offset), b = u16(offset + 2);
    return big_endian ? a << 16 | b : b << 16 | a;
  }
};

std::optional<int> valid(uint32_t value) {
  if (value < 1 || value > 8) return std::nullopt;
  return static_cast<int>(value);
}

/// The value of a directory entry that holds one number. Writers use SHORT, a few LONG or BYTE.
std::optional<int> entry_value(const TiffReader& tiff, size_t entry) {
  constexpr uint32_t kByte = 1, kShort = 3, kLong = 4;
  // TIFF 6.0, section 2: tag, type, count, then the value itself if it has at most four bytes.
  if (tiff.u32(entry + 4) != 1) return std::nullopt;
  switch (tiff.u16(entry + 2)) {
    case kByte: return valid(tiff.bytes[entry + 8]);
    case kShort: return valid(tiff.u16(entry + 8));
    case kLong: return valid(tiff.u32(entry + 8));
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<int> exif_orientation(std::span<const uint8_t> bytes) {
  TiffReader tiff{bytes};
  if (!tiff.has(0, 8) || bytes[0] != bytes[1] || (bytes[0] != 'I' && bytes[0] != 'M')) return std::nullopt;
  tiff.big_endian = bytes[0] == 'M';
  if (tiff.u16(2) != 42) return std::nullopt;
  const uint64_t directory = tiff.u32(4);
  if (!tiff.has(directory, 2)) return std::nullopt;
  const uint32_t entries = tiff.u16(directory);
  for (uint32_t i = 0; i < entries; ++i) {
    const uint64_t entry = directory + 2 + 12 * uint64_t{i};
    // Ends the loop with the block, however many entries it claims.
    if (!tiff.has(entry, 12)) return std::nullopt;
    if (tiff.u16(entry) == kOrientationTag) return entry_value(tiff, entry);
  }
  return std::nullopt;
}

std::optional<int> xmp_orientation(std::span<const uint8_t> xmp) {
  const std::string_view text(reinterpret_cast<const char*>(xmp.data()), xmp.size());
  constexpr std::string_view kName = "tiff:Orientation";
  for (size_t at = text.find(kName); at != text.npos; at = text.find(kName, at + 1)) {
    std::string_view rest = text.substr(at + kName.size());
    if (rest.starts_with("=\"")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with('>')) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') return valid(static_cast<uint32_t>(rest[0] - '0'));
  }
  return std::nullopt;
}

}  // namespace forebay
