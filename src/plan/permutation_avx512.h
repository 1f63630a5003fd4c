#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay {

/// What the rounds of a Permutation's network need.
struct PermutationRounds {
  uint64_t left_size = 0;  ///< below 2^32
  int right_bits = 0;
  int rounds = 0;
  uint64_t key_a = 0, key_b = 0;
};

/// Each of the first values goes once through the rounds, 32 side by side; how many did. None where the processor has no AVX-512.
size_t forward_avx512(const PermutationRounds& rounds, std::span<int64_t> values);
size_t backward_avx512(const PermutationRounds& rounds, std::span<int64_t> values);

}  // namespace forebay
