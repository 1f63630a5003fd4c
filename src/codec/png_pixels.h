#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "codec/png_chunks.h"

namespace forebay {

/// The palette and the transparency of a PNG file.
struct PngPalette {
  std::array<uint8_t, 256 * 3> rgb{};  ///< entries not in the file are black, as in Pillow
  std::array<uint8_t, 256> alpha;      ///< alpha of these entries
  /// The one transparent colour of an image without an alpha channel: grey, or red, green and blue,
  /// as stored.
  std::optional<std::array<uint16_t, 3>> clear;

  PngPalette() { alpha.fill(255); }
};

/// Converts unfiltered PNG samples to a colour mode. If the mode has 8 bits, 16-bit samples are
/// reduced to their upper byte.
class PngPixels {
 public:
  PngPixels(const PngHeader& header, const PngPalette& palette, ColorMode mode);

  /// Converts pixels first … first + count - 1 of `row`.
  void convert(const uint8_t* row, int64_t first, int64_t count, uint8_t* to) const;
  /// Pointer to pixel `first` in `row` if no conversion is needed, otherwise null.
  const uint8_t* in_place(const uint8_t* row, int64_t first) const;

 private:
  void convert_small(const uint8_t* row, int64_t first, int64_t count, uint8_t* to) const;
  void convert_wide(const uint8_t* from, int64_t count, uint8_t* to) const;
  bool is_transparent(const uint8_t* pixel) const;

  PngHeader header_;
  ColorMode mode_;
  std::optional<std::array<uint16_t, 3>> transparent_;
  /// Result for each sample of at most 8 bits, except colour.
  std::array<uint8_t, 256 * 4> values_{};
};

}  // namespace forebay
