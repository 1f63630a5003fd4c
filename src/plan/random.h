#pragma once

#include <array>
#include <cstdint>

namespace forebay {

/// Identifies one use of one sample. `occurrence` is 0 in a permutation and counts repeats
/// otherwise. It is never negative: the plan's own draws use negative numbers (plan/permutation.h).
struct SampleKey {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t id = 0;
  int64_t occurrence = 0;
};

/// Random numbers of one operation on one sample: Philox4x32-10 keyed by (seed, epoch, id,
/// occurrence, operation). Two streams of the same key give the same numbers on every machine.
/// Cheap to make; has no state outside itself.
///
/// Derivation of the key (fixed for ever; golden tests check it):
///
///     E       = philox(counter: epoch, occurrence  key: seed)          128 bits, words E0 E1 E2 E3
///     block i = philox(counter: i, operation, id.low ^ E2, id.high ^ E3   key: E0, E1)
///
/// For one (seed, epoch, occurrence) all (id, operation, block) are different counters under one
/// key, so no two streams share a block. Different (seed, epoch, occurrence) have unrelated 128-bit
/// keys. The low word of a 64-bit value comes first. A stream has 2^32 blocks of four words and
/// then repeats.
class RandomStream {
 public:
  RandomStream(const SampleKey& key, uint32_t operation);

  uint32_t next_u32();
  /// Uses two words, the first one as the low half.
  uint64_t next_u64();
  /// A multiple of 2^-53 in [0, 1).
  double uniform();
  /// A number in [low, high), or `low` if the two are equal.
  double uniform(double low, double high);
  /// A number in [0, bound), without bias. `bound` must be positive. Uses one word for bounds below
  /// 2^32 and two for larger ones, and more if a draw is rejected (with a probability below bound /
  /// 2^32 or bound / 2^64).
  uint64_t below(uint64_t bound);

 private:
  std::array<uint32_t, 4> counter_{};
  std::array<uint32_t, 2> key_{};
  std::array<uint32_t, 4> block_{};
  uint32_t used_ = 4;
};

}  // namespace forebay
