#include "base/utf8_vector.h"

#if defined(__aarch64__)

#include <cstring>

#include <arm_neon.h>

#define FOREBAY_TARGET  // every aarch64 processor has NEON
#define FOREBAY_VECTOR __attribute__((always_inline)) inline

namespace forebay {
namespace {

using Block = uint8x16_t;

FOREBAY_VECTOR Block load(const uint8_t* from) { return vld1q_u8(from); }
FOREBAY_VECTOR Block zero() { return vdupq_n_u8(0); }
FOREBAY_VECTOR Block set(uint8_t byte) { return vdupq_n_u8(byte); }
FOREBAY_VECTOR Block either(Block a, Block b) { return vorrq_u8(a, b); }
FOREBAY_VECTOR Block both(Block a, Block b) { return vandq_u8(a, b); }
FOREBAY_VECTOR Block differ(Block a, Block b) { return veorq_u8(a, b); }
FOREBAY_VECTOR Block minus(Block a, Block b) { return vqsubq_u8(a, b); }
FOREBAY_VECTOR Block upper(Block bytes) { return vshrq_n_u8(bytes, 4); }
FOREBAY_VECTOR Block look_up(const uint8_t* table, Block places) { return vqtbl1q_u8(vld1q_u8(table), places); }
template <int kBytes>
FOREBAY_VECTOR Block back(Block block, Block before) {
  return vextq_u8(before, block, 16 - kBytes);
}
FOREBAY_VECTOR bool has_top_bit(Block block) { return vmaxvq_u8(block) >= 0x80; }
FOREBAY_VECTOR bool is_zero(Block block) { return vmaxvq_u8(block) == 0; }

}  // namespace

#include "base/utf8_vector.inl"

Utf8Check utf8_check_neon() { return is_utf8_in_blocks; }

}  // namespace forebay

#else

namespace forebay {

Utf8Check utf8_check_neon() { return nullptr; }

}  // namespace forebay

#endif
