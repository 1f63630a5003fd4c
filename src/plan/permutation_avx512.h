#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay {

/// The parameters that the rounds of a Permutation's network need.
struct PermutationRounds {
  uint64_t left_size = 0;  ///< below 2^32
  int right_bits = 0;
  int rounds = 0;
  uint64_t key_a = 0, key_b = 0;
};

/// Sends the first values once through the rounds, all but at most four, and returns how many it
/// replaced. Returns 0 if the processor has no AVX-512.
size_t forward_avx512(const PermutationRounds& rounds, std::span<int64_t> values);
size_t backward_avx512(const PermutationRounds& rounds, std::span<int64_t> values);

}  // namespace forebay
