#if defined(__aarch64__)
#include <arm_neon.h>

#include "ops/image/kernels_scalar.h"
#include "ops/image/kernels_vector.h"

#define FOREBAY_TARGET  // every aarch64 processor has NEON
#define FOREBAY_LANE __attribute__((always_inline)) inline

namespace forebay::neon {
namespace {

using Vec = int32x4_t;
constexpr int kLanes = 1;
constexpr int kFloats = 8;

FOREBAY_LANE uint8x16_t bytes_of(Vec v) { return vreinterpretq_u8_s32(v); }
FOREBAY_LANE int16x8_t words_of(Vec v) { return vreinterpretq_s16_s32(v); }
FOREBAY_LANE Vec of_bytes(uint8x16_t v) { return vreinterpretq_s32_u8(v); }

FOREBAY_LANE Vec load(const void* from) { return of_bytes(vld1q_u8(static_cast<const uint8_t*>(from))); }
FOREBAY_LANE void store(void* to, Vec v) { vst1q_u8(static_cast<uint8_t*>(to), bytes_of(v)); }
FOREBAY_LANE Vec broadcast_lane(const void* from) { return load(from); }
FOREBAY_LANE Vec load_lanes(const uint8_t* row, const int32_t* offsets) { return load(row + offsets[0]); }
FOREBAY_LANE Vec zero() { return vdupq_n_s32(0); }
FOREBAY_LANE Vec set32(int32_t x) { return vdupq_n_s32(x); }
// A place beyond the register gives 0, as 128 does on x86.
FOREBAY_LANE Vec shuffle(Vec v, Vec lanes) { return of_bytes(vqtbl1q_u8(bytes_of(v), bytes_of(lanes))); }
FOREBAY_LANE Vec madd(Vec a, Vec b) {
  return vpaddq_s32(vmull_s16(vget_low_s16(words_of(a)), vget_low_s16(words_of(b))),
                    vmull_high_s16(words_of(a), words_of(b)));
}
FOREBAY_LANE Vec add32(Vec a, Vec b) { return vaddq_s32(a, b); }
FOREBAY_LANE Vec shift_left_8(Vec v) { return vshlq_n_s32(v, 8); }
FOREBAY_LANE Vec shift_right_22(Vec v) { return vshrq_n_s32(v, 22); }
FOREBAY_LANE Vec pack32(Vec a, Vec b) { return vreinterpretq_s32_s16(vqmovn_high_s32(vqmovn_s32(a), b)); }
FOREBAY_LANE Vec pack16(Vec a, Vec b) { return of_bytes(vqmovun_high_s16(vqmovun_s16(words_of(a)), words_of(b))); }
FOREBAY_LANE Vec low8(Vec a, Vec b) { return of_bytes(vzip1q_u8(bytes_of(a), bytes_of(b))); }
FOREBAY_LANE Vec high8(Vec a, Vec b) { return of_bytes(vzip2q_u8(bytes_of(a), bytes_of(b))); }

FOREBAY_LANE void shuffle_16(const uint8_t* from, const uint8_t* lanes, uint8_t* to) {
  store(to, shuffle(load(from), load(lanes)));
}

FOREBAY_LANE void store_block(const Vec* pixels, uint8_t* out) {
  store(out, pack16(pack32(pixels[0], pixels[1]), pack32(pixels[2], pixels[3])));
}

// Multiplies and adds separately: a fused instruction rounds once, but the other levels round twice.
FOREBAY_LANE void store_four(uint16x4_t values, float scale, float bias, float* out) {
  const float32x4_t scaled = vmulq_f32(vcvtq_f32_u32(vmovl_u16(values)), vdupq_n_f32(scale));
  vst1q_f32(out, vaddq_f32(scaled, vdupq_n_f32(bias)));
}

FOREBAY_LANE void store_floats(const uint8_t* pixels, const float* scale, const float* bias, float* const* planes,
                               int64_t x) {
  const uint8x8x4_t channels = vld4_u8(pixels);
  for (int c = 0; c < 3; ++c) {
    const uint16x8_t words = vmovl_u8(channels.val[c]);
    store_four(vget_low_u16(words), scale[c], bias[c], planes[c] + x);
    store_four(vget_high_u16(words), scale[c], bias[c], planes[c] + x + 4);
  }
}

}  // namespace

#include "ops/image/kernels_lanes.inl"

}  // namespace forebay::neon
#endif
