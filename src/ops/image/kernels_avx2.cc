#if defined(__x86_64__)
#include <immintrin.h>

#include "ops/image/kernels_scalar.h"
#include "ops/image/kernels_vector.h"

#define FOREBAY_TARGET __attribute__((target("avx2")))
#define FOREBAY_LANE FOREBAY_TARGET __attribute__((always_inline)) inline

namespace forebay::avx2 {
namespace {

using Vec = __m256i;
constexpr int kLanes = 2;
constexpr int kFloats = 8;

FOREBAY_LANE Vec load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
FOREBAY_LANE void store(void* to, Vec v) { _mm256_storeu_si256(static_cast<__m256i*>(to), v); }
FOREBAY_LANE __m128i load_lane(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
FOREBAY_LANE Vec broadcast_lane(const void* from) { return _mm256_broadcastsi128_si256(load_lane(from)); }
FOREBAY_LANE Vec load_lanes(const uint8_t* row, const int32_t* offsets) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(load_lane(row + offsets[0])), load_lane(row + offsets[1]), 1);
}
FOREBAY_LANE Vec zero() { return _mm256_setzero_si256(); }
FOREBAY_LANE Vec set32(int32_t x) { return _mm256_set1_epi32(x); }
FOREBAY_LANE Vec shuffle(Vec v, Vec lanes) { return _mm256_shuffle_epi8(v, lanes); }
FOREBAY_LANE Vec madd(Vec a, Vec b) { return _mm256_madd_epi16(a, b); }
FOREBAY_LANE Vec add32(Vec a, Vec b) { return _mm256_add_epi32(a, b); }
FOREBAY_LANE Vec shift_left_8(Vec v) { return _mm256_slli_epi32(v, 8); }
FOREBAY_LANE Vec shift_right_22(Vec v) { return _mm256_srai_epi32(v, 22); }
FOREBAY_LANE Vec pack32(Vec a, Vec b) { return _mm256_packs_epi32(a, b); }
FOREBAY_LANE Vec pack16(Vec a, Vec b) { return _mm256_packus_epi16(a, b); }
FOREBAY_LANE Vec low8(Vec a, Vec b) { return _mm256_unpacklo_epi8(a, b); }
FOREBAY_LANE Vec high8(Vec a, Vec b) { return _mm256_unpackhi_epi8(a, b); }

FOREBAY_LANE void shuffle_16(const uint8_t* from, const uint8_t* lanes, uint8_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(load_lane(from), load_lane(lanes)));
}

FOREBAY_LANE void store_block(const Vec* pixels, uint8_t* out) {
  // Packing stays within lanes: pixels 0 and 2 end up in the lower one, 1 and 3 in the upper.
  const Vec words = pack32(pixels[0], pixels[1]), bytes = pack16(words, words);
  const __m128i in_order = _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), in_order);
}

FOREBAY_LANE void store_floats(const uint8_t* pixels, const float* scale, const float* bias, float* const* planes,
                               int64_t x) {
  const Vec eight = load(pixels), byte = set32(255);
  const Vec channel[3] = {_mm256_and_si256(eight, byte), _mm256_and_si256(_mm256_srli_epi32(eight, 8), byte),
                          _mm256_and_si256(_mm256_srli_epi32(eight, 16), byte)};
  for (int c = 0; c < 3; ++c) {
    // Multiplies and adds separately: a fused instruction rounds once, but the other levels round
    // twice.
    const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(channel[c]), _mm256_set1_ps(scale[c]));
    _mm256_storeu_ps(planes[c] + x, _mm256_add_ps(scaled, _mm256_set1_ps(bias[c])));
  }
}

}  // namespace

#include "ops/image/kernels_lanes.inl"

}  // namespace forebay::avx2
#endif
