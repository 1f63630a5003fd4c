#include "base/utf8_vector.h"

#if defined(__x86_64__)

#include <cstring>

#include <immintrin.h>

#define FOREBAY_TARGET __attribute__((target("avx2")))
#define FOREBAY_VECTOR FOREBAY_TARGET __attribute__((always_inline)) inline

namespace forebay {
namespace {

using Block = __m256i;

FOREBAY_VECTOR Block load(const uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
FOREBAY_VECTOR Block zero() { return _mm256_setzero_si256(); }
FOREBAY_VECTOR Block set(uint8_t byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }
FOREBAY_VECTOR Block either(Block a, Block b) { return _mm256_or_si256(a, b); }
FOREBAY_VECTOR Block both(Block a, Block b) { return _mm256_and_si256(a, b); }
FOREBAY_VECTOR Block differ(Block a, Block b) { return _mm256_xor_si256(a, b); }
FOREBAY_VECTOR Block minus(Block a, Block b) { return _mm256_subs_epu8(a, b); }
FOREBAY_VECTOR Block upper(Block bytes) { return both(_mm256_srli_epi16(bytes, 4), set(0x0f)); }
FOREBAY_VECTOR Block look_up(const uint8_t* table, Block places) {
  const __m128i once = _mm_load_si128(reinterpret_cast<const __m128i*>(table));
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(once), places);
}
template <int kBytes>
FOREBAY_VECTOR Block back(Block block, Block before) {
  return _mm256_alignr_epi8(block, _mm256_permute2x128_si256(before, block, 0x21), 16 - kBytes);
}
FOREBAY_VECTOR bool has_top_bit(Block block) { return _mm256_movemask_epi8(block) != 0; }
FOREBAY_VECTOR bool is_zero(Block block) { return _mm256_testz_si256(block, block) != 0; }

}  // namespace

#include "base/utf8_vector.inl"

Utf8Check utf8_check_avx2() { return __builtin_cpu_supports("avx2") ? is_utf8_in_blocks : nullptr; }

}  // namespace forebay

#else

namespace forebay {

Utf8Check utf8_check_avx2() { return nullptr; }

}  // namespace forebay

#endif
