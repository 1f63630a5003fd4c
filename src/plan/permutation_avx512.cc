#include "plan/permutation_avx512.h"

#include <algorithm>

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns about the deliberately undefined registers inside its own intrinsics.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

namespace forebay {

#if defined(__x86_64__)

namespace {

#define FOREBAY_AVX512 __attribute__((target("avx512f,avx512dq")))
#define FOREBAY_AVX512_INLINE FOREBAY_AVX512 __attribute__((always_inline)) inline

using Vec = __m512i;
constexpr size_t kLanes = 8;
// The rounds of a vector take as long as those of so many single values.
constexpr size_t kFew = 4;

// Enough independent products to hide the latency of a multiplication.
constexpr size_t kVectorsTogether = 4;

template <size_t kVectors>
struct Halves {
  Vec left[kVectors], right[kVectors];
};

// The rounds of Permutation, for eight numbers at a time.
struct Network {
  Vec left_size, key_b, first_factor, second_factor;
  int right_bits, rounds;
  uint64_t key_a, step_b;
};

FOREBAY_AVX512_INLINE Vec every(uint64_t value) { return _mm512_set1_epi64(static_cast<int64_t>(value)); }

FOREBAY_AVX512_INLINE Network network_of(const PermutationRounds& rounds) {
  return {every(rounds.left_size),
          every(rounds.key_b),
          every(0xBF58476D1CE4E5B9),
          every(0x94D049BB133111EB),
          rounds.right_bits,
          rounds.rounds,
          rounds.key_a,
          rounds.key_b};
}

FOREBAY_AVX512_INLINE Vec scramble(const Network& n, Vec half, Vec round_key) {
  const Vec x = _mm512_mullo_epi64(_mm512_add_epi64(half, round_key), n.first_factor);
  return _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 32)), n.second_factor);
}

// The upper 64 bits of the product with a number below 2^32, computed from two 32-bit products.
FOREBAY_AVX512_INLINE Vec left_step(const Network& n, Vec right, Vec round_key) {
  const Vec x = scramble(n, right, round_key);
  const Vec low = _mm512_srli_epi64(_mm512_mul_epu32(x, n.left_size), 32);
  const Vec high = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), n.left_size);
  return _mm512_srli_epi64(_mm512_add_epi64(high, low), 32);
}

FOREBAY_AVX512_INLINE Vec right_step(const Network& n, Vec left, Vec round_key) {
  return _mm512_srl_epi64(scramble(n, left, round_key), _mm_cvtsi32_si128(64 - n.right_bits));
}

template <size_t kVectors>
FOREBAY_AVX512_INLINE void split(const Network& n, const int64_t* values, __mmask8 lanes, Halves<kVectors>* halves) {
  const __m128i bits = _mm_cvtsi32_si128(n.right_bits);
  const Vec mask = every((uint64_t{1} << n.right_bits) - 1);
  for (size_t i = 0; i < kVectors; ++i) {
    const Vec value = _mm512_maskz_loadu_epi64(lanes, values + kLanes * i);
    halves->left[i] = _mm512_srl_epi64(value, bits);
    halves->right[i] = _mm512_and_si512(value, mask);
  }
}

template <size_t kVectors>
FOREBAY_AVX512_INLINE void join(const Network& n, const Halves<kVectors>& halves, __mmask8 lanes, int64_t* values) {
  const __m128i bits = _mm_cvtsi32_si128(n.right_bits);
  for (size_t i = 0; i < kVectors; ++i)
    _mm512_mask_storeu_epi64(values + kLanes * i, lanes,
                             _mm512_or_si512(_mm512_sll_epi64(halves.left[i], bits), halves.right[i]));
}

template <size_t kVectors>
FOREBAY_AVX512_INLINE void forward(const Network& n, Halves<kVectors>* halves) {
  uint64_t round_key = n.key_a;
  for (int round = 0; round < n.rounds; round += 2) {
    const Vec key = every(round_key), next_key = _mm512_add_epi64(key, n.key_b);
    for (size_t i = 0; i < kVectors; ++i) {
      const Vec sum = _mm512_add_epi64(halves->left[i], left_step(n, halves->right[i], key));
      // Unsigned: for a sum below the size the difference wraps around to a large number.
      halves->left[i] = _mm512_min_epu64(sum, _mm512_sub_epi64(sum, n.left_size));
    }
    for (size_t i = 0; i < kVectors; ++i)
      halves->right[i] = _mm512_xor_si512(halves->right[i], right_step(n, halves->left[i], next_key));
    round_key += 2 * n.step_b;
  }
}

template <size_t kVectors>
FOREBAY_AVX512_INLINE void backward(const Network& n, Halves<kVectors>* halves) {
  uint64_t round_key = n.key_a + static_cast<uint64_t>(n.rounds) * n.step_b;
  for (int round = 0; round < n.rounds; round += 2) {
    round_key -= 2 * n.step_b;
    const Vec key = every(round_key), next_key = _mm512_add_epi64(key, n.key_b);
    for (size_t i = 0; i < kVectors; ++i)
      halves->right[i] = _mm512_xor_si512(halves->right[i], right_step(n, halves->left[i], next_key));
    for (size_t i = 0; i < kVectors; ++i) {
      const Vec difference = _mm512_sub_epi64(halves->left[i], left_step(n, halves->right[i], key));
      halves->left[i] = _mm512_min_epu64(difference, _mm512_add_epi64(difference, n.left_size));
    }
  }
}

bool has_avx512() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
  return has;
}

// `lanes` are those of each vector that have a value.
template <bool kForward, size_t kVectors>
FOREBAY_AVX512_INLINE void some(const Network& network, int64_t* values, __mmask8 lanes) {
  Halves<kVectors> halves;
  split(network, values, lanes, &halves);
  if constexpr (kForward) {
    forward(network, &halves);
  } else {
    backward(network, &halves);
  }
  join(network, halves, lanes, values);
}

template <bool kForward>
FOREBAY_AVX512 size_t all(const PermutationRounds& rounds, std::span<int64_t> values) {
  const Network network = network_of(rounds);
  constexpr size_t kTogether = kLanes * kVectorsTogether;
  size_t done = 0;
  for (; done + kTogether <= values.size(); done += kTogether)
    some<kForward, kVectorsTogether>(network, values.data() + done, 0xFF);
  // A mix of several data sets asks each of them for fewer values.
  while (values.size() - done > kFew) {
    const size_t count = std::min(kLanes, values.size() - done);
    some<kForward, 1>(network, values.data() + done, static_cast<__mmask8>((1u << count) - 1));
    done += count;
  }
  return done;
}

}  // namespace

size_t forward_avx512(const PermutationRounds& rounds, std::span<int64_t> values) {
  return values.size() > kFew && has_avx512() ? all<true>(rounds, values) : 0;
}

size_t backward_avx512(const PermutationRounds& rounds, std::span<int64_t> values) {
  return values.size() > kFew && has_avx512() ? all<false>(rounds, values) : 0;
}

#else

size_t forward_avx512(const PermutationRounds&, std::span<int64_t>) { return 0; }
size_t backward_avx512(const PermutationRounds&, std::span<int64_t>) { return 0; }

#endif

}  // namespace forebay
