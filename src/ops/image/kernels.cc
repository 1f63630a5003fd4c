#include "ops/image/kernels.h"

#include <algorithm>

#include "ops/image/kernels_scalar.h"
#include "ops/image/kernels_vector.h"

namespace forebay {
namespace {

constexpr int64_t kBlock = 4;
constexpr int64_t kChannels = 3;
// 16-bit numbers per block and pair: 4 pixels × 4 pairs of highs, then the same for the lows.
constexpr int64_t kPairWeights = 64;

int64_t blocks_of(int64_t count) { return (count + kBlock - 1) / kBlock; }
int64_t pairs_of(int64_t taps) { return (taps + 1) / 2; }

void horizontal_rgb(const HorizontalTaps& taps, const uint8_t* row, uint8_t* out) {
  horizontal_any(*taps.axis, kChannels, row, out);
}

// Writes the weights of one pair of taps of one pixel, repeated for the four channels of the pixel.
void put_pair(int32_t first, int32_t second, int16_t* out) {
  for (int lane = 0; lane < 4; ++lane) {
    out[2 * lane] = static_cast<int16_t>(first >> 8);
    out[2 * lane + 1] = static_cast<int16_t>(second >> 8);
    out[32 + 2 * lane] = static_cast<int16_t>(first & 255);
    out[32 + 2 * lane + 1] = static_cast<int16_t>(second & 255);
  }
}

}  // namespace

uint64_t HorizontalTaps::bytes(const AxisSpec& spec) {
  const int64_t blocks = blocks_of(spec.count);
  const int64_t weights = blocks * pairs_of(max_taps(spec)) * kPairWeights * static_cast<int64_t>(sizeof(int16_t));
  return static_cast<uint64_t>(weights + blocks * kBlock * static_cast<int64_t>(sizeof(int32_t)));
}

HorizontalTaps HorizontalTaps::build(const Axis& axis, std::span<uint8_t> memory) {
  const int64_t blocks = blocks_of(axis.count), pairs = pairs_of(axis.taps);
  auto* weights = reinterpret_cast<int16_t*>(memory.data());
  auto* offsets = reinterpret_cast<int32_t*>(weights + blocks * pairs * kPairWeights);
  for (int64_t i = 0; i < blocks * kBlock; ++i) {
    const bool real = i < axis.count;
    offsets[i] = real ? axis.start[i] * static_cast<int32_t>(kChannels) : 0;
    int16_t* out = weights + (i / kBlock * pairs) * kPairWeights + (i % kBlock) * 8;
    const int32_t* from = real ? &axis.weights[i * axis.taps] : nullptr;
    for (int64_t t = 0; t < 2 * pairs; t += 2, out += kPairWeights) {
      put_pair(real ? from[t] : 0, real && t + 1 < axis.taps ? from[t + 1] : 0, out);
    }
  }
  return {&axis, blocks, pairs, offsets, weights};
}

const ImageKernels& image_kernels(SimdLevel level) {
  static constexpr ImageKernels kScalar = {horizontal_rgb, scalar::vertical, scalar::planar_float, scalar::packed_rgb};
#if defined(__x86_64__)
  static constexpr ImageKernels kSse4 = {sse4::horizontal_rgb, sse4::vertical, sse4::planar_float, sse4::packed_rgb};
  static constexpr ImageKernels kAvx2 = {avx2::horizontal_rgb, avx2::vertical, avx2::planar_float, avx2::packed_rgb};
  static constexpr ImageKernels kAvx512 = {avx512::horizontal_rgb, avx512::vertical, avx512::planar_float,
                                           avx512::packed_rgb};
  switch (level) {
    case SimdLevel::kSse4: return kSse4;
    case SimdLevel::kAvx2: return kAvx2;
    case SimdLevel::kAvx512: return kAvx512;
    default: break;
  }
#elif defined(__aarch64__)
  static constexpr ImageKernels kNeon = {neon::horizontal_rgb, neon::vertical, neon::planar_float, neon::packed_rgb};
  if (level == SimdLevel::kNeon) return kNeon;
#else
  (void)level;
#endif
  return kScalar;
}

}  // namespace forebay
