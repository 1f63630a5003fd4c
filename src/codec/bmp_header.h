#pragma once

#include <array>
#include <cstdint>

#include "codec/formats.h"

namespace forebay {

enum class BmpCoding : uint8_t { kPlain, kRle8, kRle4 };

/// One channel of a pixel: the bits of `mask`, scaled to 0 … 255.
struct BmpChannel {
  uint32_t mask = 0;
  int shift = 0;
  uint32_t largest = 0;  ///< 0: the channel is not there, and reads as 0

  uint8_t value(uint32_t pixel) const {
    return largest == 0 ? uint8_t{0} : static_cast<uint8_t>(uint64_t{(pixel & mask) >> shift} * 255 / largest);
  }
};

struct BmpHeader {
  int64_t width = 0, height = 0;
  bool top_down = false;
  int bits = 24;  ///< a pixel
  BmpCoding coding = BmpCoding::kPlain;
  std::array<BmpChannel, 3> channels{};    ///< red, green, blue, where bits >= 16
  BmpChannel alpha;                        ///< where masks name one
  std::array<uint8_t, 256 * 3> palette{};  ///< RGB, where bits <= 8; entries that the file does not have are black
  uint64_t data_offset = 0;

  int64_t row_bytes() const { return ((width * bits + 31) >> 3) & ~int64_t{3}; }
};

/// Reads the header and the palette, of Windows 3 to 5 and OS/2 1 and 2.
Result<BmpHeader> read_bmp_header(Bytes bytes);

}  // namespace forebay
