#include "ops/image/color.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "codec/pixels.h"

namespace forebay {
namespace {

struct Hsv {
  uint8_t h, s, v;
};

// Pillow's blend: truncated, and clipped if the factor leads out of range.
uint8_t blend(uint8_t flat, uint8_t pixel, float factor) {
  const float value = static_cast<float>(flat) + factor * static_cast<float>(pixel - flat);
  return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
}

void blend_all(uint8_t flat, float factor, std::span<uint8_t> pixels) {
  std::array<uint8_t, 256> table;
  // A table needs 256 blends for any number of pixels.
  for (int i = 0; i < 256; ++i) table[i] = blend(flat, static_cast<uint8_t>(i), factor);
  for (uint8_t& pixel : pixels) pixel = table[pixel];
}

uint8_t luma_of(const uint8_t* rgb) { return luma(rgb[0], rgb[1], rgb[2]); }

uint8_t to_byte(double value) { return static_cast<uint8_t>(std::clamp(static_cast<int>(value), 0, 255)); }

// Pillow stores hue, saturation and value in 8 bits each and mixes single and double precision;
// both affect the last bit.
Hsv hsv_of(const uint8_t* rgb) {
  const uint8_t r = rgb[0], g = rgb[1], b = rgb[2];
  const uint8_t high = std::max({r, g, b}), low = std::min({r, g, b});
  // Grey has no hue, and its range of 0 must not be a divisor.
  if (high == low) return {0, 0, high};
  const auto range = static_cast<float>(high - low);
  const float s = range / static_cast<float>(high);
  const float from_r = static_cast<float>(high - r) / range;
  const float from_g = static_cast<float>(high - g) / range;
  const float from_b = static_cast<float>(high - b) / range;
  float h = 0;
  if (r == high) {
    h = from_b - from_g;
  } else if (g == high) {
    h = static_cast<float>(2.0 + from_r - from_b);
  } else {
    h = static_cast<float>(4.0 + from_g - from_r);
  }
  h = static_cast<float>(std::fmod(h / 6.0 + 1.0, 1.0));
  return {to_byte(h * 255.0), to_byte(s * 255.0), high};
}

void put_rgb(const Hsv& hsv, uint8_t* rgb) {
  if (hsv.s == 0) {
    rgb[0] = rgb[1] = rgb[2] = hsv.v;
    return;
  }
  const auto sector = static_cast<int>(hsv.h * 6.0 / 255.0);
  const auto rest = static_cast<float>(hsv.h * 6.0 / 255.0 - sector);
  const auto s = static_cast<float>(hsv.s / 255.0);
  const uint8_t v = hsv.v;
  const uint8_t p = to_byte(std::round(v * (1.0 - s)));
  const uint8_t q = to_byte(std::round(v * (1.0 - s * rest)));
  const uint8_t t = to_byte(std::round(v * (1.0 - s * (1.0 - rest))));
  const std::array<std::array<uint8_t, 3>, 6> sectors = {
      {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}}};
  std::copy_n(sectors[sector % 6].begin(), 3, rgb);
}

}  // namespace

void adjust_brightness(float factor, std::span<uint8_t> pixels) { blend_all(0, factor, pixels); }

void adjust_contrast(float factor, int64_t channels, std::span<uint8_t> pixels) {
  uint64_t sum = 0;
  for (size_t i = 0; i < pixels.size(); i += channels) sum += channels == 3 ? luma_of(&pixels[i]) : pixels[i];
  const double mean = static_cast<double>(sum) / static_cast<double>(pixels.size() / channels);
  // Pillow uses one mean for the whole picture, rounded to a byte.
  blend_all(static_cast<uint8_t>(mean + 0.5), factor, pixels);
}

void adjust_saturation(float factor, std::span<uint8_t> pixels) {
  for (size_t i = 0; i < pixels.size(); i += 3) {
    const uint8_t grey = luma_of(&pixels[i]);
    for (size_t c = 0; c < 3; ++c) pixels[i + c] = blend(grey, pixels[i + c], factor);
  }
}

void adjust_hue(double shift, std::span<uint8_t> pixels) {
  const auto steps = static_cast<int>(shift * 255);
  for (size_t i = 0; i < pixels.size(); i += 3) {
    Hsv hsv = hsv_of(&pixels[i]);
    // Wraps around on purpose: the hue is a circle of 256 values.
    hsv.h = static_cast<uint8_t>(hsv.h + steps);
    put_rgb(hsv, &pixels[i]);
  }
}

}  // namespace forebay
