#pragma once

#include <array>
#include <cstdint>

#include "codec/formats.h"

namespace forebay {

/// One channel of a pixel: the bits of `mask`, scaled to 0 … 255.
struct BmpChannel {
  uint32_t mask = 0;
  int shift = 0;
  uint32_t max_value = 0;  ///< the mask, shifted; 0: the channel is absent and reads as 0

  uint8_t scaled(uint32_t pixel) const {
    return max_value == 0 ? uint8_t{0} : static_cast<uint8_t>(uint64_t{(pixel & mask) >> shift} * 255 / max_value);
  }
};

/// The contents of the headers of a BMP file, and its palette.
struct BmpHeader {
  int64_t width = 0, height = 0;
  bool top_down = false;  ///< the first stored row is the top one
  int bits_per_pixel = 24;
  std::array<BmpChannel, 3> channels{};    ///< red, green, blue, from 16 bits per pixel on
  BmpChannel alpha;                        ///< absent without an alpha mask, which longer headers may have
  std::array<uint8_t, 256 * 3> palette{};  ///< RGB, up to 8 bits per pixel; black if not in the file
  uint64_t pixels_offset = 0;              ///< of the first stored row in the file

  /// Bytes of a row in the file: padded to a multiple of 4.
  int64_t row_bytes() const { return (width * bits_per_pixel + 31) / 32 * 4; }
};

/// Parses the headers from BITMAPINFOHEADER to BITMAPV5HEADER, and the palette. Corrupt if they are
/// cut off or inconsistent. Unsupported for run-length encoding and the headers of OS/2, because no
/// known training data uses them.
Result<BmpHeader> read_bmp_header(Bytes bytes);

}  // namespace forebay
