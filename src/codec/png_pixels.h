#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "codec/png_chunks.h"

namespace forebay {

struct PngPalette {
  std::array<uint8_t, 256 * 3> rgb{};  ///< entries that the file does not have are black, as in Pillow
  std::array<uint8_t, 256> alpha;      ///< of these entries
  /// The one colour that is transparent in a picture without a channel for it: grey, or red, green and blue, as stored.
  std::optional<std::array<uint16_t, 3>> clear;

  PngPalette() { alpha.fill(255); }
};

/// Turns unfiltered PNG samples into what a mode asks for: 16 bits by their upper byte where 8 are wanted.
class PngPixels {
 public:
  PngPixels(const PngHeader& header, const PngPalette& palette, ColorMode mode);

  /// Pixels first … first + count - 1 of `row`, written to `to`.
  void convert(const uint8_t* row, int64_t first, int64_t count, uint8_t* to) const;
  /// Where pixel `first` is in `row` if it needs no conversion, else null.
  const uint8_t* in_place(const uint8_t* row, int64_t first) const;

 private:
  void convert_small(const uint8_t* row, int64_t first, int64_t count, uint8_t* to) const;
  void convert_wide(const uint8_t* from, int64_t count, uint8_t* to) const;
  bool is_clear(const uint8_t* pixel) const;

  PngHeader header_;
  ColorMode mode_;
  std::optional<std::array<uint16_t, 3>> clear_;
  std::array<uint8_t, 256 * 4> values_{};  ///< what a sample of at most 8 bits, not colour, becomes
};

}  // namespace forebay
