#pragma once

#include <array>
#include <cstdint>

#include "codec/formats.h"

namespace forebay {

/// One channel of a pixel: the bits of `mask`, scaled to 0 … 255.
struct BmpChannel {
  uint32_t mask = 0;
  int shift = 0;
  uint32_t largest = 0;  ///< 0: the channel is absent and reads as 0

  uint8_t value(uint32_t pixel) const {
    return largest == 0 ? uint8_t{0} : static_cast<uint8_t>(uint64_t{(pixel & mask) >> shift} * 255 / largest);
  }
};

/// The contents of the headers of a BMP file, and its palette.
struct BmpHeader {
  int64_t width = 0, height = 0;
  bool top_down = false;
  int bits = 24;                           ///< bits per pixel
  std::array<BmpChannel, 3> channels{};    ///< red, green, blue, for bits >= 16
  BmpChannel alpha;                        ///< used if the masks define it
  std::array<uint8_t, 256 * 3> palette{};  ///< RGB, for bits <= 8; black if not in the file
  uint64_t data_offset = 0;

  int64_t row_bytes() const { return ((width * bits + 31) >> 3) & ~int64_t{3}; }
};

/// Parses the header and the palette of Windows 3 to 5. Run-length encoding and OS/2 headers are
/// Unsupported, because no known training data uses them.
Result<BmpHeader> read_bmp_header(Bytes bytes);

}  // namespace forebay
