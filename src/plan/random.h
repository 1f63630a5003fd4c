#pragma once

#include <array>
#include <cstdint>

namespace forebay {

/// Names one appearance of one sample. `occurrence` is 0 in a permutation and counts repeats otherwise.
struct SampleKey {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t id = 0;
  int64_t occurrence = 0;
};

/// Random numbers of one operation on one sample: Philox4x32-10 keyed by (seed, epoch, id, occurrence, operation). Two
/// streams of the same key give the same numbers, on every machine. Cheap to make; has no state outside itself.
class RandomStream {
 public:
  RandomStream(const SampleKey& key, uint32_t operation);

  uint32_t next_u32();
  uint64_t next_u64();
  /// In [0, 1), a multiple of 2^-53.
  double uniform();
  double uniform(double low, double high);
  /// In [0, bound), without bias. bound > 0.
  uint64_t below(uint64_t bound);

 private:
  std::array<uint32_t, 4> counter_{};
  std::array<uint32_t, 2> key_{};
  std::array<uint32_t, 4> block_{};
  uint32_t used_ = 4;
};

}  // namespace forebay
