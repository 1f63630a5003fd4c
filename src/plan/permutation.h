#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "plan/philox.h"

namespace forebay {

/// 128 bits that select one permutation. Keys form a tree: a root for the seed and one use, a child
/// for each epoch, and further children for parts of an epoch. Children with different numbers are
/// different.
struct PermutationKey {
  uint64_t a = 0;
  uint64_t b = 0;

  /// Uses of permutations. The values enter the derivation of keys and never change. They take the
  /// place of a sample's occurrence, which is never negative, so the plan's keys differ from those
  /// of all samples (plan/random.h).
  enum class Use : int64_t {
    kOrder = -1,
    kChunks = -2,
    kBlock = -3,
    kReplacement = -4,
    kDecisionOfStream = -5,
    kRehearsed = -6,
    kOffered = -7,
    kCandidates = -8,
    kUnionWindow = -9,
    kMixWindow = -10,
    kDrawnOffset = -11,
    kDrawnLine = -12,
    kClass = -13,
    kBuckets = -14
  };

  static PermutationKey root(uint64_t seed, Use use) {
    const auto words = philox4x32(0, static_cast<uint64_t>(use), seed);
    return {words[0], words[1]};
  }
  PermutationKey child(int64_t index) const {
    const auto i = static_cast<uint64_t>(index);
    return {mix(a + i * 0x9E3779B97F4A7C15), mix(b + i * 0xD1342543DE82EF95)};
  }

  /// A bijection of 64 bits in which each input bit flips each output bit with probability about
  /// one half (Stafford's "variant 13").
  static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
  }
};

/// The parameters of permutations of [0, size), which depend on `size` alone.
struct PermutationShape {
  /// Up to this size the permutation is an exact shuffle, stored as a table.
  static constexpr int64_t kTableSize = 64;

  int64_t size = 0;
  /// Smallest number for which left_size << right_bits is at least `size`.
  uint64_t left_size = 0;
  int right_bits = 0;
  int rounds = 0;  ///< even

  static PermutationShape of(int64_t size);
};

/// A permutation of [0, size) that maps one index at a time, in both directions, in constant memory
/// and time.
///
/// Large sizes use a Feistel network over pairs (left, right), with left below left_size and right
/// below 1 << right_bits. Both are about the square root of `size`, so that splitting and joining
/// is a shift. The few pairs outside [0, size), at most 1.5 in each square root of `size`, go
/// through the network again. The result is still a bijection, and the cost is too small to
/// measure.
///
/// Small sizes use a table, which is drawn when the object is made (half a microsecond). Otherwise
/// construction copies a few words.
class Permutation {
 public:
  Permutation(const PermutationShape& shape, const PermutationKey& key);
  Permutation(int64_t size, const PermutationKey& key) : Permutation(PermutationShape::of(size), key) {}

  int64_t size() const { return shape_.size; }

  /// The index at `position`, which is in [0, size).
  int64_t at(int64_t position) const {
    assert(position >= 0 && position < shape_.size);
    if (shape_.size <= PermutationShape::kTableSize) return table_[static_cast<size_t>(position)];
    auto value = static_cast<uint64_t>(position);
    do value = forward(value);
    while (value >= static_cast<uint64_t>(shape_.size));
    return static_cast<int64_t>(value);
  }

  /// The position of `index`, which is in [0, size): position_of(at(p)) == p.
  int64_t position_of(int64_t index) const {
    assert(index >= 0 && index < shape_.size);
    if (shape_.size <= PermutationShape::kTableSize) return find_in_table(index);
    auto value = static_cast<uint64_t>(index);
    do value = backward(value);
    while (value >= static_cast<uint64_t>(shape_.size));
    return static_cast<int64_t>(value);
  }

  /// Replaces each value by at() or position_of() of it. Takes a third of the time of a loop over
  /// those functions: several values go through the rounds at once, which hides the latency of the
  /// multiplications.
  void at_each(std::span<int64_t> values) const;
  void position_of_each(std::span<int64_t> values) const;

 private:
  static constexpr size_t kSideBySide = 6;
  using Side = std::array<uint64_t, kSideBySide>;

  template <typename Wide, typename One, typename Again, typename Several>
  void each(std::span<int64_t> values, const Wide& wide, const One& one, const Again& again,
            const Several& several) const;
  void forward(Side& left, Side& right) const;
  void backward(Side& left, Side& right) const;

  uint64_t forward(uint64_t value) const {
    uint64_t left = value >> shape_.right_bits;
    uint64_t right = value & ((uint64_t{1} << shape_.right_bits) - 1);
    uint64_t round_key = key_.a;
    for (int round = 0; round < shape_.rounds; round += 2) {
      left += left_step(right, round_key);
      if (left >= shape_.left_size) left -= shape_.left_size;
      right ^= right_step(left, round_key + key_.b);
      round_key += 2 * key_.b;
    }
    return left << shape_.right_bits | right;
  }

  uint64_t backward(uint64_t value) const {
    uint64_t left = value >> shape_.right_bits;
    uint64_t right = value & ((uint64_t{1} << shape_.right_bits) - 1);
    uint64_t round_key = key_.a + static_cast<uint64_t>(shape_.rounds) * key_.b;
    for (int round = 0; round < shape_.rounds; round += 2) {
      round_key -= 2 * key_.b;
      right ^= right_step(left, round_key + key_.b);
      const uint64_t step = left_step(right, round_key);
      left = left >= step ? left - step : left + shape_.left_size - step;
    }
    return left << shape_.right_bits | right;
  }

  // Two multiplications with a fold between them. A single one is linear in `half`, which shows as
  // a bias between neighbours.
  static uint64_t scramble(uint64_t half, uint64_t round_key) {
    uint64_t x = (half + round_key) * 0xBF58476D1CE4E5B9;
    x ^= x >> 32;
    return x * 0x94D049BB133111EB;
  }
  uint64_t left_step(uint64_t right, uint64_t round_key) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(scramble(right, round_key)) * shape_.left_size >> 64);
  }
  uint64_t right_step(uint64_t left, uint64_t round_key) const {
    return scramble(left, round_key) >> (64 - shape_.right_bits);
  }

  void fill_table();
  int64_t find_in_table(int64_t index) const;

  PermutationShape shape_;
  PermutationKey key_;
  std::array<uint8_t, PermutationShape::kTableSize> table_;  // only filled for small sizes
};

inline Permutation::Permutation(const PermutationShape& shape, const PermutationKey& key)
    : shape_(shape), key_{key.a, key.b | 1} {
  if (shape_.size <= PermutationShape::kTableSize) fill_table();
}

}  // namespace forebay
