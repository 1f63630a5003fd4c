#include "codec/png_pixels.h"

#include <cstring>

#include "codec/pixels.h"

namespace forebay {

PngPixels::PngPixels(const PngHeader& header, const PngPalette& palette, ColorMode mode)
    : header_(header), mode_(mode) {
  if (header.bits > 8) return;
  const int largest = (1 << header.bits) - 1;
  for (int i = 0; i <= largest; ++i) {
    uint8_t rgb[3];
    if (header.color == PngColor::kPalette) {
      std::memcpy(rgb, &palette.rgb[3 * static_cast<size_t>(i)], 3);
    } else {
      // 1, 2 and 4 bits scale without a rest: 255 is a multiple of 1, 3 and 15.
      std::memset(rgb, i * 255 / largest, 3);
    }
    const auto at = static_cast<size_t>(i * channels(mode));
    if (mode == ColorMode::kRgb) {
      std::memcpy(&values_[at], rgb, 3);
    } else {
      values_[at] = luma(rgb[0], rgb[1], rgb[2]);
    }
  }
}

const uint8_t* PngPixels::in_place(const uint8_t* row, int64_t first) const {
  if (header_.bits != 8) return nullptr;
  if (header_.color == PngColor::kRgb && mode_ == ColorMode::kRgb) return row + 3 * first;
  if (header_.color == PngColor::kGray && mode_ == ColorMode::kGray) return row + first;
  return nullptr;
}

void PngPixels::convert_small(const uint8_t* row, int64_t first, int64_t count, uint8_t* to) const {
  const int bits = header_.bits, per_byte = 8 / bits, mask = (1 << bits) - 1, size = channels(mode_);
  for (int64_t x = first; x < first + count; ++x, to += size) {
    const int shift = 8 - bits - static_cast<int>(x % per_byte) * bits;
    const int sample = row[x / per_byte] >> shift & mask;
    std::memcpy(to, &values_[static_cast<size_t>(sample * size)], static_cast<size_t>(size));
  }
}

void PngPixels::convert(const uint8_t* row, int64_t first, int64_t count, uint8_t* to) const {
  const int components = header_.components();
  if (components == 1 && header_.bits <= 8) return convert_small(row, first, count, to);
  // Samples are big-endian: the upper byte comes first.
  const int sample = header_.bits / 8, pixel = components * sample;
  const bool color = components >= 3;
  const uint8_t* from = row + first * pixel;
  if (mode_ == ColorMode::kRgb16) {  // only where there are 16 bits
    for (int64_t x = 0; x < count; ++x, from += pixel) {
      for (int c = 0; c < 3; ++c, to += 2) {
        const uint8_t* const wide = from + (color ? 2 * c : 0);
        const auto value = static_cast<uint16_t>(wide[0] << 8 | wide[1]);
        std::memcpy(to, &value, sizeof value);
      }
    }
    return;
  }
  for (int64_t x = 0; x < count; ++x, from += pixel) {
    const uint8_t r = from[0], g = color ? from[sample] : r, b = color ? from[2 * sample] : r;
    if (mode_ == ColorMode::kRgb) {
      to[3 * x] = r, to[3 * x + 1] = g, to[3 * x + 2] = b;
    } else {
      to[x] = color ? luma(r, g, b) : r;
    }
  }
}

}  // namespace forebay
