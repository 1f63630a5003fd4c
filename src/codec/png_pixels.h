#pragma once

#include <array>
#include <cstdint>

#include "codec/png_chunks.h"

namespace forebay {

struct PngPalette {
  std::array<uint8_t, 256 * 3> rgb{};  ///< entries that the file does not have are black, as in Pillow
};

/// Turns unfiltered PNG samples into 8-bit grey or RGB: alpha dropped, 16 bits by their upper byte.
class PngPixels {
 public:
  PngPixels(const PngHeader& header, const PngPalette& palette, ColorMode mode);

  /// Pixels first … first + count - 1 of `row`, written to `to`.
  void convert(const uint8_t* row, int64_t first, int64_t count, uint8_t* to) const;
  /// Where pixel `first` is in `row` if it needs no conversion, else null.
  const uint8_t* in_place(const uint8_t* row, int64_t first) const;

 private:
  void convert_small(const uint8_t* row, int64_t first, int64_t count, uint8_t* to) const;

  PngHeader header_;
  ColorMode mode_;
  std::array<uint8_t, 256 * 3> values_{};  ///< what a sample of at most 8 bits, not colour, becomes
};

}  // namespace forebay
