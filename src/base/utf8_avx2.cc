#include "base/utf8_avx2.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace forebay {

#if defined(__x86_64__)

namespace {

#define FOREBAY_AVX2 __attribute__((target("avx2")))

// J. Keiser, D. Lemire: Validating UTF-8 in less than one instruction per byte (2021). Three tables
// give the possible errors of two consecutive bytes: one for each half of the first byte, one for
// the upper half of the second. An error exists if all three tables have it.
enum : uint8_t {
  kTooShort = 1,
  kTooLong = 2,
  kOverlong3 = 4,
  kTooLarge = 8,
  kSurrogate = 16,
  kOverlong2 = 32,
  kTooLarge1000 = 64,
  kOverlong4 = 64,
  kTwoContinue = 128,
  kCarry = kTooShort | kTooLong | kTwoContinue,
  kHigh = kCarry | kTooLarge | kTooLarge1000,
  kSecond = kTooLong | kOverlong2 | kTwoContinue,
};

alignas(16) constexpr uint8_t kFirstHigh[16] = {kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTooLong,
                                                kTwoContinue,
                                                kTwoContinue,
                                                kTwoContinue,
                                                kTwoContinue,
                                                kTooShort | kOverlong2,
                                                kTooShort,
                                                kTooShort | kOverlong3 | kSurrogate,
                                                kTooShort | kTooLarge | kTooLarge1000 | kOverlong4};
alignas(16) constexpr uint8_t kFirstLow[16] = {kCarry | kOverlong3 | kOverlong2 | kOverlong4,
                                               kCarry | kOverlong2,
                                               kCarry,
                                               kCarry,
                                               kCarry | kTooLarge,
                                               kHigh,
                                               kHigh,
                                               kHigh,
                                               kHigh,
                                               kHigh,
                                               kHigh,
                                               kHigh,
                                               kHigh,
                                               kHigh | kSurrogate,
                                               kHigh,
                                               kHigh};
alignas(16) constexpr uint8_t kSecondHigh[16] = {kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kSecond | kOverlong3 | kTooLarge1000 | kOverlong4,
                                                 kSecond | kOverlong3 | kTooLarge,
                                                 kSecond | kSurrogate | kTooLarge,
                                                 kSecond | kSurrogate | kTooLarge,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort,
                                                 kTooShort};

FOREBAY_AVX2 inline __m256i look_up(const uint8_t* table, __m256i halves) {
  const __m256i both = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
  return _mm256_shuffle_epi8(both, halves);
}
FOREBAY_AVX2 inline __m256i upper(__m256i bytes) {
  return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0f));
}
FOREBAY_AVX2 inline __m256i errors(__m256i block, __m256i before) {
  const __m256i between = _mm256_permute2x128_si256(before, block, 0x21);
  const __m256i back1 = _mm256_alignr_epi8(block, between, 15), back2 = _mm256_alignr_epi8(block, between, 14);
  const __m256i back3 = _mm256_alignr_epi8(block, between, 13);
  const __m256i pairs =
      _mm256_and_si256(_mm256_and_si256(look_up(kFirstHigh, upper(back1)),
                                        look_up(kFirstLow, _mm256_and_si256(back1, _mm256_set1_epi8(0x0f)))),
                       look_up(kSecondHigh, upper(block)));
  // The difference keeps its top bit only two bytes after E0 or more, or three bytes after F0 or
  // more: there a third or fourth byte of a character must stand. kTwoContinue is that bit, so that
  // the required and the actual continuations cancel out.
  const __m256i third = _mm256_subs_epu8(back2, _mm256_set1_epi8(0xe0 - 0x80));
  const __m256i fourth = _mm256_subs_epu8(back3, _mm256_set1_epi8(static_cast<char>(0xf0 - 0x80)));
  const __m256i must = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(static_cast<char>(0x80)));
  return _mm256_xor_si256(must, pairs);
}

}  // namespace

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

FOREBAY_AVX2 bool is_utf8_avx2(std::span<const uint8_t> bytes) {
  constexpr size_t kBlock = sizeof(__m256i);
  __m256i before = _mm256_setzero_si256(), wrong = _mm256_setzero_si256();
  size_t at = 0;
  for (; at + kBlock <= bytes.size(); at += kBlock) {
    const __m256i block = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes.data() + at));
    // ASCII after ASCII needs no check; ASCII after the beginning of a character is an error.
    if (_mm256_movemask_epi8(_mm256_or_si256(block, before)) != 0)
      wrong = _mm256_or_si256(wrong, errors(block, before));
    before = block;
  }
  // Zeros after the end: a character that is cut off there becomes one that is too short.
  uint8_t last[kBlock] = {};
  if (at < bytes.size()) std::memcpy(last, bytes.data() + at, bytes.size() - at);
  wrong = _mm256_or_si256(wrong, errors(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(last)), before));
  return _mm256_testz_si256(wrong, wrong) != 0;
}

#else

bool has_avx2() { return false; }
bool is_utf8_avx2(std::span<const uint8_t>) { return false; }

#endif

}  // namespace forebay
