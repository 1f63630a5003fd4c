#include "ops/image/kernels_scalar.h"

#include <algorithm>

namespace forebay {
namespace {

constexpr uint32_t kHalf = 1u << (kWeightBits - 1);

// Unsigned, so that sums over very many taps wrap as in the vector kernels instead of being
// undefined.
uint8_t to_byte(uint32_t sum) {
  return static_cast<uint8_t>(std::clamp(static_cast<int32_t>(sum + kHalf) >> kWeightBits, 0, 255));
}

template <int kChannels>
void horizontal(const Axis& axis, const uint8_t* row, uint8_t* out) {
  constexpr int64_t kPitch = pixel_pitch(kChannels);
  for (int64_t i = 0; i < axis.count; ++i, out += kPitch) {
    const int32_t* weights = &axis.weights[i * axis.taps];
    const uint8_t* from = row + int64_t{axis.start[i]} * kChannels;
    uint32_t sums[kChannels] = {};
    for (int64_t t = 0; t < axis.taps; ++t, from += kChannels) {
      const auto weight = static_cast<uint32_t>(weights[t]);
      for (int c = 0; c < kChannels; ++c) sums[c] += weight * from[c];
    }
    for (int c = 0; c < kChannels; ++c) out[c] = to_byte(sums[c]);
    // The fourth byte of three channels; the vector kernels also set it to 0.
    if (kPitch > kChannels) out[kChannels] = 0;
  }
}

}  // namespace

void horizontal_any(const Axis& axis, int64_t channels, const uint8_t* row, uint8_t* out) {
  switch (channels) {
    case 1: return horizontal<1>(axis, row, out);
    case 2: return horizontal<2>(axis, row, out);
    case 3: return horizontal<3>(axis, row, out);
    default: return horizontal<4>(axis, row, out);
  }
}

namespace scalar {

void vertical(const int32_t* weights, int64_t taps, const uint8_t* const* rows, int64_t bytes, uint8_t* out) {
  for (int64_t i = 0; i < bytes; ++i) {
    uint32_t sum = 0;
    for (int64_t t = 0; t < taps; ++t) sum += static_cast<uint32_t>(weights[t]) * rows[t][i];
    out[i] = to_byte(sum);
  }
}

void planar_float(const uint8_t* pixels, int64_t width, const float* scale, const float* bias, float* const* planes) {
  for (int c = 0; c < 3; ++c) {
    for (int64_t x = 0; x < width; ++x) planes[c][x] = static_cast<float>(pixels[4 * x + c]) * scale[c] + bias[c];
  }
}

void packed_rgb(const uint8_t* pixels, int64_t width, uint8_t* out) {
  for (int64_t x = 0; x < width; ++x, pixels += 4, out += 3) {
    out[0] = pixels[0];
    out[1] = pixels[1];
    out[2] = pixels[2];
  }
}

}  // namespace scalar
}  // namespace forebay
