#pragma once

#include <cstdint>
#include <vector>

#include "codec/image.h"

namespace forebay {

/// Bytes beyond the end of a row passed to a RowSink that are readable.
inline constexpr int64_t kRowSlackBytes = 64;

/// Pillow's luma (ITU-R 601-2, 16-bit fixed point, rounded).
inline uint8_t luma(uint32_t red, uint32_t green, uint32_t blue) {
  return static_cast<uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

/// The same for 16 bits.
inline uint16_t luma16(uint64_t red, uint64_t green, uint64_t blue) {
  return static_cast<uint16_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

/// These functions convert `width` pixels. `to` may be the input memory if pixels become smaller.
void rgb_to_gray(const uint8_t* rgb, int64_t width, uint8_t* to);
void gray_to_rgb(const uint8_t* gray, int64_t width, uint8_t* to);
/// Converts Adobe's inverted CMYK (255 is no ink) by Pillow's formula.
void inverted_cmyk_to_rgb(const uint8_t* cmyk, int64_t width, uint8_t* to);

/// The error of a decoder for ColorMode::kPalette if the image has no palette. `what` describes it:
/// "a grey PNG".
Status no_palette(std::string_view what);

/// Row memory that each thread reuses for its next image. It never exceeds the widest row seen.
class RowBuffer {
 public:
  /// Returns `bytes` writable bytes plus the slack. Earlier contents may be lost.
  uint8_t* get(int64_t bytes);

 private:
  std::vector<uint8_t> memory_;
};

}  // namespace forebay
