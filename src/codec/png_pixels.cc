#include "codec/png_pixels.h"

#include <cstring>

#include "codec/pixels.h"

namespace forebay {

namespace {

/// Writes one pixel of at most 8 bits per channel.
void put(ColorMode mode, const uint8_t* rgb, bool gray, uint8_t alpha, uint8_t* to) {
  switch (mode) {
    case ColorMode::kRgb: std::memcpy(to, rgb, 3); return;
    case ColorMode::kRgba:
      std::memcpy(to, rgb, 3);
      to[3] = alpha;
      return;
    case ColorMode::kAlpha: *to = alpha; return;
    default: *to = gray ? rgb[0] : luma(rgb[0], rgb[1], rgb[2]);
  }
}

uint16_t big_u16(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }

}  // namespace

PngPixels::PngPixels(const PngHeader& header, const PngPalette& palette, ColorMode mode)
    : header_(header), mode_(mode), transparent_(palette.clear) {
  if (header.bits > 8 || header.components() > 1) return;
  const int largest = (1 << header.bits) - 1;
  for (int i = 0; i <= largest; ++i) {
    const auto entry = static_cast<size_t>(i);
    uint8_t* const to = &values_[entry * static_cast<size_t>(channels(mode))];
    if (mode == ColorMode::kPalette) {
      *to = static_cast<uint8_t>(i);
    } else if (header.color == PngColor::kPalette) {
      put(mode, &palette.rgb[3 * entry], false, palette.alpha[entry], to);
    } else {
      // Samples of 1, 2 and 4 bits scale exactly, because 255 is a multiple of 1, 3 and 15.
      const auto value = static_cast<uint8_t>(i * 255 / largest);
      const uint8_t gray[3] = {value, value, value};
      put(mode, gray, true, transparent_ && (*transparent_)[0] == i ? 0 : 255, to);
    }
  }
}

const uint8_t* PngPixels::in_place(const uint8_t* row, int64_t first) const {
  if (header_.bits != 8) return nullptr;
  if (header_.color == PngColor::kRgb && mode_ == ColorMode::kRgb) return row + 3 * first;
  if (header_.color == PngColor::kRgbAlpha && mode_ == ColorMode::kRgba) return row + 4 * first;
  if (header_.color == PngColor::kGray && mode_ == ColorMode::kGray) return row + first;
  if (header_.color == PngColor::kPalette && mode_ == ColorMode::kPalette) return row + first;
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

bool PngPixels::is_transparent(const uint8_t* pixel) const {
  if (!transparent_) return false;
  for (int c = 0; c < header_.components(); ++c) {
    const auto value = header_.bits == 16 ? big_u16(pixel + 2 * c) : uint16_t{pixel[c]};
    if (value != (*transparent_)[static_cast<size_t>(c)]) return false;
  }
  return true;
}

// Called only for 16 bits per channel.
void PngPixels::convert_wide(const uint8_t* from, int64_t count, uint8_t* to) const {
  const int pixel = header_.components() * 2;
  const bool color = header_.components() >= 3;
  for (int64_t x = 0; x < count; ++x, from += pixel, to += pixel_bytes(mode_)) {
    if (mode_ == ColorMode::kGray16) {
      const uint16_t value = color ? luma16(big_u16(from), big_u16(from + 2), big_u16(from + 4)) : big_u16(from);
      std::memcpy(to, &value, sizeof value);
      continue;
    }
    for (int c = 0; c < 3; ++c) {
      const uint16_t value = big_u16(from + (color ? 2 * c : 0));
      std::memcpy(to + 2 * c, &value, sizeof value);
    }
  }
}

void PngPixels::convert(const uint8_t* row, int64_t first, int64_t count, uint8_t* to) const {
  const int components = header_.components();
  if (components == 1 && header_.bits <= 8) return convert_small(row, first, count, to);
  // Samples are big-endian, so the upper byte comes first.
  const int sample = header_.bits / 8, pixel = components * sample, size = channels(mode_);
  const bool color = components >= 3, alpha = components == 2 || components == 4;
  const uint8_t* from = row + first * pixel;
  if (is_wide(mode_)) return convert_wide(from, count, to);
  for (int64_t x = 0; x < count; ++x, from += pixel, to += size) {
    const uint8_t rgb[3] = {from[0], color ? from[sample] : from[0], color ? from[2 * sample] : from[0]};
    const uint8_t opacity = alpha ? from[(components - 1) * sample] : is_transparent(from) ? 0 : 255;
    put(mode_, rgb, !color, opacity, to);
  }
}

}  // namespace forebay
