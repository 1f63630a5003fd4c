#if defined(__x86_64__)
#include <immintrin.h>

#include "ops/image/kernels_scalar.h"
#include "ops/image/kernels_vector.h"

#define FOREBAY_TARGET __attribute__((target("sse4.1")))
#define FOREBAY_LANE FOREBAY_TARGET __attribute__((always_inline)) inline

namespace forebay::sse4 {
namespace {

using Vec = __m128i;
constexpr int kLanes = 1;
constexpr int kFloats = 4;

FOREBAY_LANE Vec load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
FOREBAY_LANE void store(void* to, Vec v) { _mm_storeu_si128(static_cast<__m128i*>(to), v); }
FOREBAY_LANE Vec broadcast_lane(const void* from) { return load(from); }
FOREBAY_LANE Vec load_lanes(const uint8_t* row, const int32_t* offsets) { return load(row + offsets[0]); }
FOREBAY_LANE Vec zero() { return _mm_setzero_si128(); }
FOREBAY_LANE Vec set32(int32_t x) { return _mm_set1_epi32(x); }
FOREBAY_LANE Vec shuffle(Vec v, Vec lanes) { return _mm_shuffle_epi8(v, lanes); }
FOREBAY_LANE Vec madd(Vec a, Vec b) { return _mm_madd_epi16(a, b); }
FOREBAY_LANE Vec add32(Vec a, Vec b) { return _mm_add_epi32(a, b); }
FOREBAY_LANE Vec shift_left_8(Vec v) { return _mm_slli_epi32(v, 8); }
FOREBAY_LANE Vec shift_right_22(Vec v) { return _mm_srai_epi32(v, 22); }
FOREBAY_LANE Vec pack32(Vec a, Vec b) { return _mm_packs_epi32(a, b); }
FOREBAY_LANE Vec pack16(Vec a, Vec b) { return _mm_packus_epi16(a, b); }
FOREBAY_LANE Vec low8(Vec a, Vec b) { return _mm_unpacklo_epi8(a, b); }
FOREBAY_LANE Vec high8(Vec a, Vec b) { return _mm_unpackhi_epi8(a, b); }

FOREBAY_LANE void shuffle_16(const uint8_t* from, const uint8_t* lanes, uint8_t* to) {
  store(to, shuffle(load(from), load(lanes)));
}

FOREBAY_LANE void store_block(const Vec* pixels, uint8_t* out) {
  store(out, pack16(pack32(pixels[0], pixels[1]), pack32(pixels[2], pixels[3])));
}

FOREBAY_LANE void store_floats(const uint8_t* pixels, const float* scale, const float* bias, float* const* planes,
                               int64_t x) {
  const Vec four = load(pixels), byte = set32(255);
  const Vec channel[3] = {_mm_and_si128(four, byte), _mm_and_si128(_mm_srli_epi32(four, 8), byte),
                          _mm_and_si128(_mm_srli_epi32(four, 16), byte)};
  for (int c = 0; c < 3; ++c) {
    const __m128 scaled = _mm_mul_ps(_mm_cvtepi32_ps(channel[c]), _mm_set1_ps(scale[c]));
    _mm_storeu_ps(planes[c] + x, _mm_add_ps(scaled, _mm_set1_ps(bias[c])));
  }
}

}  // namespace

#include "ops/image/kernels_lanes.inl"

}  // namespace forebay::sse4
#endif
