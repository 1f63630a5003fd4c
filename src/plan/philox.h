#pragma once

#include <array>
#include <cstdint>

namespace forebay {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11): a keyed
/// bijection of 128 bits that passes every known statistical test. All random choices of the plan
/// use it. It has no state.
inline PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

inline uint32_t low_word(uint64_t value) { return static_cast<uint32_t>(value); }
inline uint32_t high_word(uint64_t value) { return static_cast<uint32_t>(value >> 32); }
inline uint64_t join_words(uint32_t low, uint32_t high) { return static_cast<uint64_t>(high) << 32 | low; }

/// The same with 64-bit halves. The plan derives one key from another with it.
inline std::array<uint64_t, 2> philox4x32(uint64_t counter_low, uint64_t counter_high, uint64_t key) {
  const PhiloxCounter out =
      philox4x32({low_word(counter_low), high_word(counter_low), low_word(counter_high), high_word(counter_high)},
                 {low_word(key), high_word(key)});
  return {join_words(out[0], out[1]), join_words(out[2], out[3])};
}

}  // namespace forebay
