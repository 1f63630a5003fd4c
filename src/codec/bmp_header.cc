#include "codec/bmp_header.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace forebay {
namespace {

constexpr size_t kFileHeader = 14;

uint32_t u16(Bytes bytes, size_t at) { return uint32_t{bytes[at]} | uint32_t{bytes[at + 1]} << 8; }
uint32_t u32(Bytes bytes, size_t at) { return u16(bytes, at) | u16(bytes, at + 2) << 16; }

bool is_known_size(uint32_t size) { return size == 40 || size == 52 || size == 56 || size == 108 || size == 124; }

/// Returns false if the bits of the mask are not contiguous.
bool set_channel(uint32_t mask, BmpChannel& channel) {
  if (mask == 0) return true;
  channel.mask = mask;
  channel.shift = std::countr_zero(mask);
  channel.max_value = mask >> channel.shift;
  // Contiguous ones, shifted down, are one less than a power of two.
  return (uint64_t{channel.max_value} & (uint64_t{channel.max_value} + 1)) == 0;
}

void set_default_channels(BmpHeader& header) {
  const bool wide = header.bits_per_pixel > 16;
  set_channel(wide ? 0xFF0000 : 0x7C00, header.channels[0]);
  set_channel(wide ? 0x00FF00 : 0x03E0, header.channels[1]);
  set_channel(wide ? 0x0000FF : 0x001F, header.channels[2]);
}

Status read_masks(Bytes bytes, uint32_t header_size, BmpHeader& header) {
  constexpr size_t kMasks = kFileHeader + 40;  // inside longer headers, after the one of 40 bytes
  if (bytes.size() < kMasks + 12) return corrupt("BMP ends early, inside its colour masks");
  if (header.bits_per_pixel != 16 && header.bits_per_pixel != 24 && header.bits_per_pixel != 32) {
    return unsupported(fmt::format("BMP with colour masks and {} bits a pixel", header.bits_per_pixel));
  }
  const uint32_t red = u32(bytes, kMasks), green = u32(bytes, kMasks + 4), blue = u32(bytes, kMasks + 8);
  // Some writers omit the masks; the default channels then apply.
  if ((red | green | blue) == 0 && header.bits_per_pixel == 32) return {};
  header.channels = {};
  if (red == 0 || green == 0 || blue == 0 || !set_channel(red, header.channels[0]) ||
      !set_channel(green, header.channels[1]) || !set_channel(blue, header.channels[2])) {
    return unsupported(fmt::format("BMP with the colour masks {:x}, {:x} and {:x}", red, green, blue));
  }
  // Headers of 56 bytes and more have an alpha mask. If its bits are not contiguous, its meaning is
  // unknown and it is ignored.
  if (header_size >= 56 && header.bits_per_pixel == 32 && bytes.size() >= kMasks + 16 &&
      !set_channel(u32(bytes, kMasks + 12), header.alpha))
    header.alpha = {};
  return {};
}

Status read_coding(Bytes bytes, uint32_t header_size, BmpHeader& header) {
  enum : uint32_t { kPlain = 0, kMasks = 3 };
  set_default_channels(header);
  const uint32_t compression = u32(bytes, kFileHeader + 16);
  if (compression == kPlain) return {};
  if (compression == kMasks) return read_masks(bytes, header_size, header);
  return unsupported(
      fmt::format("BMP of {} bits a pixel with compression {} (1 and 2 are run lengths); save it without, or as PNG",
                  header.bits_per_pixel, compression));
}

/// Reads the palette and returns its end.
Result<uint64_t> read_palette(Bytes bytes, uint32_t header_size, BmpHeader& header) {
  const uint64_t begin = kFileHeader + uint64_t{header_size};
  if (header.bits_per_pixel > 8) return begin;
  const uint32_t used = u32(bytes, kFileHeader + 32);
  const uint64_t colors = used == 0 ? uint64_t{1} << header.bits_per_pixel : used;
  if (colors > 65536) return corrupt(fmt::format("BMP with a palette of {} colours", colors));
  constexpr uint64_t entry = 4;
  if (bytes.size() < begin + entry * colors) return corrupt("BMP ends early, inside its palette");
  for (uint64_t i = 0; i < std::min<uint64_t>(colors, 256); ++i) {
    for (uint64_t c = 0; c < 3; ++c) header.palette[3 * i + c] = bytes[begin + entry * i + 2 - c];
  }
  return begin + entry * colors;
}

Status read_size(Bytes bytes, BmpHeader& header) {
  header.width = static_cast<int32_t>(u32(bytes, kFileHeader + 4));
  header.height = static_cast<int32_t>(u32(bytes, kFileHeader + 8));
  header.bits_per_pixel = static_cast<int>(u16(bytes, kFileHeader + 14));
  header.top_down = header.height < 0;
  // Cannot overflow, because a 32-bit number is held in 64 bits.
  if (header.top_down) header.height = -header.height;
  if (header.width <= 0 || header.height <= 0) {
    return corrupt(fmt::format("BMP of {} × {} pixels", header.width, header.height));
  }
  switch (header.bits_per_pixel) {
    case 1:
    case 4:
    case 8:
    case 16:
    case 24:
    case 32: return {};
    default: return unsupported(fmt::format("BMP of {} bits a pixel", header.bits_per_pixel));
  }
}

}  // namespace

Result<BmpHeader> read_bmp_header(Bytes bytes) {
  if (bytes.size() < kFileHeader + 4) return corrupt("BMP ends early, inside its header");
  const uint32_t header_size = u32(bytes, kFileHeader);
  if (!is_known_size(header_size))
    return unsupported(fmt::format(
        "BMP with a header of {} bytes (12 and 64 are those of OS/2); save it anew, or as PNG", header_size));
  if (bytes.size() < kFileHeader + header_size) return corrupt("BMP ends early, inside its header");
  BmpHeader header;
  FOREBAY_RETURN_IF_ERROR(read_size(bytes, header));
  FOREBAY_RETURN_IF_ERROR(read_coding(bytes, header_size, header));
  FOREBAY_ASSIGN(const uint64_t after_palette, read_palette(bytes, header_size, header));
  header.pixels_offset = u32(bytes, 10);
  // Some writers omit the offset, or do not include the palette in it.
  if (header.pixels_offset == 0 || (header.bits_per_pixel <= 8 && header.pixels_offset == kFileHeader + header_size)) {
    header.pixels_offset = after_palette;
  }
  return header;
}

}  // namespace forebay
