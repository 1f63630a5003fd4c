#pragma once

#include <cstdint>
#include <vector>

#include "codec/image.h"

namespace forebay {

/// A row given to a RowSink is readable for so many bytes beyond its end.
inline constexpr int64_t kRowSlackBytes = 64;

/// Pillow's luma (ITU-R 601-2, 16-bit fixed point, rounded).
inline uint8_t luma(uint32_t red, uint32_t green, uint32_t blue) {
  return static_cast<uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

/// The same of 16 bits.
inline uint16_t luma16(uint64_t red, uint64_t green, uint64_t blue) {
  return static_cast<uint16_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

/// These read `width` pixels and write them in another form; `to` may be the same memory where a pixel shrinks.
void rgb_to_gray(const uint8_t* rgb, int64_t width, uint8_t* to);
void gray_to_rgb(const uint8_t* gray, int64_t width, uint8_t* to);
/// Adobe's inverted CMYK (255 is no ink), by Pillow's formula.
void inverted_cmyk_to_rgb(const uint8_t* cmyk, int64_t width, uint8_t* to);

/// The answer of a format's decoder to ColorMode::kPalette where a picture has no palette. `what`: "a grey PNG".
Status no_palette(std::string_view what);

/// Memory for one row or a few, kept by the thread for its next picture; never more than the widest row seen.
class RowBuffer {
 public:
  /// `bytes` writable bytes and the slack; what was there before may be lost.
  uint8_t* get(int64_t bytes);

 private:
  std::vector<uint8_t> memory_;
};

}  // namespace forebay
