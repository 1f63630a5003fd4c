#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns about the deliberately undefined registers inside its own intrinsics.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include "ops/image/kernels_scalar.h"
#include "ops/image/kernels_vector.h"

#define FOREBAY_TARGET __attribute__((target("avx512f,avx512bw,avx512vl")))
#define FOREBAY_LANE FOREBAY_TARGET __attribute__((always_inline)) inline

namespace forebay::avx512 {
namespace {

using Vec = __m512i;
constexpr int kLanes = 4;
constexpr int kFloats = 16;

FOREBAY_LANE Vec load(const void* from) { return _mm512_loadu_si512(static_cast<const __m512i*>(from)); }
FOREBAY_LANE void store(void* to, Vec v) { _mm512_storeu_si512(static_cast<__m512i*>(to), v); }
FOREBAY_LANE __m128i load_lane(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
FOREBAY_LANE Vec broadcast_lane(const void* from) { return _mm512_broadcast_i32x4(load_lane(from)); }
// Masked broadcasts are loads and a blend; inserting lanes would use the port that the shuffles
// need.
FOREBAY_LANE Vec load_lanes(const uint8_t* row, const int32_t* offsets) {
  Vec lanes = _mm512_castsi128_si512(load_lane(row + offsets[0]));
  lanes = _mm512_mask_broadcast_i32x4(lanes, 0x00f0, load_lane(row + offsets[1]));
  lanes = _mm512_mask_broadcast_i32x4(lanes, 0x0f00, load_lane(row + offsets[2]));
  return _mm512_mask_broadcast_i32x4(lanes, 0xf000, load_lane(row + offsets[3]));
}
FOREBAY_LANE Vec zero() { return _mm512_setzero_si512(); }
FOREBAY_LANE Vec set32(int32_t x) { return _mm512_set1_epi32(x); }
FOREBAY_LANE Vec shuffle(Vec v, Vec lanes) { return _mm512_shuffle_epi8(v, lanes); }
FOREBAY_LANE Vec madd(Vec a, Vec b) { return _mm512_madd_epi16(a, b); }
FOREBAY_LANE Vec add32(Vec a, Vec b) { return _mm512_add_epi32(a, b); }
FOREBAY_LANE Vec shift_left_8(Vec v) { return _mm512_slli_epi32(v, 8); }
FOREBAY_LANE Vec shift_right_22(Vec v) { return _mm512_srai_epi32(v, 22); }
FOREBAY_LANE Vec pack32(Vec a, Vec b) { return _mm512_packs_epi32(a, b); }
FOREBAY_LANE Vec pack16(Vec a, Vec b) { return _mm512_packus_epi16(a, b); }
FOREBAY_LANE Vec low8(Vec a, Vec b) { return _mm512_unpacklo_epi8(a, b); }
FOREBAY_LANE Vec high8(Vec a, Vec b) { return _mm512_unpackhi_epi8(a, b); }

FOREBAY_LANE void shuffle_16(const uint8_t* from, const uint8_t* lanes, uint8_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(load_lane(from), load_lane(lanes)));
}

FOREBAY_LANE void store_block(const Vec* pixels, uint8_t* out) {
  // The conversion clips above 255 but reads its input as unsigned, so negative numbers are raised
  // to 0 first.
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtusepi32_epi8(_mm512_max_epi32(pixels[0], zero())));
}

FOREBAY_LANE void store_floats(const uint8_t* pixels, const float* scale, const float* bias, float* const* planes,
                               int64_t x) {
  const Vec sixteen = load(pixels), byte = set32(255);
  const Vec channel[3] = {_mm512_and_si512(sixteen, byte), _mm512_and_si512(_mm512_srli_epi32(sixteen, 8), byte),
                          _mm512_and_si512(_mm512_srli_epi32(sixteen, 16), byte)};
  for (int c = 0; c < 3; ++c) {
    const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(channel[c]), _mm512_set1_ps(scale[c]));
    _mm512_storeu_ps(planes[c] + x, _mm512_add_ps(scaled, _mm512_set1_ps(bias[c])));
  }
}

}  // namespace

#include "ops/image/kernels_lanes.inl"

}  // namespace forebay::avx512
#endif
