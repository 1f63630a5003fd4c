// The ways to permute [0, N) index by index that were weighed for the order (docs/decisions/0002-order.md). Each is
// timed alone (latency: the argument is the last answer), with the key of the epoch derived in every call as id_at()
// does, and its neighbours are judged: `sigmas` is the chi-square of id(p + 1) - id(p) over 2^20 positions, in standard
// deviations.

#include <benchmark/benchmark.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/permutation.h"
#include "plan/philox.h"

namespace forebay {
namespace {

constexpr int64_t kMillion = 1 << 20, kBillion = 1'000'000'000, kAbovePower = (int64_t{1} << 30) + 1;

uint64_t high_product(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
}
uint64_t two_products(uint64_t half, uint64_t key) {
  const uint64_t x = (half + key) * 0xBF58476D1CE4E5B9;
  return (x ^ x >> 32) * 0x94D049BB133111EB;
}
uint64_t one_product(uint64_t half, uint64_t key) { return (half + key) * 0xBF58476D1CE4E5B9; }
uint64_t philox_product(uint64_t half, uint64_t key) { return philox4x32(half, 0, key)[0]; }

using Round = uint64_t (*)(uint64_t half, uint64_t key);

// What the tree has: left below ceil(N / 2^k), right below 2^k.
template <Round round, int rounds>
struct SplitByShift {
  uint64_t left_size;
  int bits;
  explicit SplitByShift(uint64_t n) : bits(std::bit_width(n - 1) / 2) { left_size = ((n - 1) >> bits) + 1; }
  uint64_t once(uint64_t value, PermutationKey key) const {
    uint64_t left = value >> bits, right = value & ((uint64_t{1} << bits) - 1);
    for (int i = 0; i < rounds; i += 2, key.a += 2 * key.b) {
      left += high_product(round(right, key.a), left_size);
      if (left >= left_size) left -= left_size;
      right ^= round(left, key.a + key.b) >> (64 - bits);
    }
    return left << bits | right;
  }
};

// Both halves of one size a = ceil(sqrt(N)), split by a division.
template <int rounds>
struct SplitByDivision {
  uint64_t side;
  explicit SplitByDivision(uint64_t n) : side(static_cast<uint64_t>(std::ceil(std::sqrt(static_cast<double>(n))))) {}
  uint64_t once(uint64_t value, PermutationKey key) const {
    uint64_t left = value / side, right = value % side;
    for (int i = 0; i < rounds; i += 2, key.a += 2 * key.b) {
      left += high_product(two_products(right, key.a), side);
      if (left >= side) left -= side;
      right += high_product(two_products(left, key.a + key.b), side);
      if (right >= side) right -= side;
    }
    return left * side + right;
  }
};

// The textbook: 2^(2k) pairs, at worst nearly four times N.
template <int rounds>
struct PowerOfFour {
  int bits;
  explicit PowerOfFour(uint64_t n) : bits((std::bit_width(n - 1) + 1) / 2) {}
  uint64_t once(uint64_t value, PermutationKey key) const {
    uint64_t left = value >> bits, right = value & ((uint64_t{1} << bits) - 1);
    for (int i = 0; i < rounds; i += 2, key.a += 2 * key.b) {
      left ^= two_products(right, key.a) >> (64 - bits);
      right ^= two_products(left, key.a + key.b) >> (64 - bits);
    }
    return left << bits | right;
  }
};

// Products and folds of the whole index in 2^k, at worst nearly twice N.
template <int rounds>
struct MixInPowerOfTwo {
  int bits;
  uint64_t mask;
  explicit MixInPowerOfTwo(uint64_t n) : bits(std::bit_width(n - 1)), mask((uint64_t{1} << bits) - 1) {}
  uint64_t once(uint64_t value, PermutationKey key) const {
    for (int i = 0; i < rounds; ++i, key.a += key.b) {
      value = ((value + key.a) * 0xBF58476D1CE4E5B9) & mask;
      value ^= value >> (bits / 2);
    }
    return value;
  }
};

// Hoang, Morris, Rogaway: no pairs outside [0, N) at all, but many rounds.
template <int rounds>
struct SwapOrNot {
  uint64_t n;
  explicit SwapOrNot(uint64_t size) : n(size) {}
  uint64_t once(uint64_t value, PermutationKey key) const {
    for (int i = 0; i < rounds; ++i, key.a += key.b) {
      uint64_t partner = high_product(two_products(0, key.a), n) + n - value;
      if (partner >= n) partner -= n;
      if (two_products(value > partner ? value : partner, key.a ^ key.b) >> 63) value = partner;
    }
    return value;
  }
};

template <typename Design>
struct Walked {
  Design design;
  uint64_t n;
  PermutationKey root = PermutationKey::root(7, PermutationKey::Use::kOrder);
  explicit Walked(int64_t size) : design(static_cast<uint64_t>(size)), n(static_cast<uint64_t>(size)) {}
  int64_t at(int64_t epoch, int64_t position) const {
    PermutationKey key = root.child(epoch);
    key.b |= 1;
    auto value = static_cast<uint64_t>(position);
    do value = design.once(value, key);
    while (value >= n);
    return static_cast<int64_t>(value);
  }
};

template <typename Design>
double neighbour_sigmas(const Walked<Design>& design) {
  constexpr size_t kCells = 256;
  constexpr double kExpected = static_cast<double>(kMillion - 1) / kCells;
  std::vector<int64_t> counts(kCells);
  const auto n = static_cast<int64_t>(design.n);
  int64_t last = design.at(3, 0);
  for (int64_t p = 1; p < kMillion; ++p) {
    const int64_t here = design.at(3, p);
    ++counts[static_cast<size_t>(static_cast<unsigned __int128>((here - last + n) % n) * kCells / design.n)];
    last = here;
  }
  double sum = 0;
  for (int64_t count : counts) sum += std::pow(static_cast<double>(count) - kExpected, 2) / kExpected;
  return (sum - (kCells - 1)) / std::sqrt(2.0 * (kCells - 1));
}

template <typename Design>
void one_index(benchmark::State& state) {
  const Walked<Design> design(state.range(0));
  int64_t value = state.range(0) / 2;
  for (auto _ : state) value = design.at(3, value);
  benchmark::DoNotOptimize(value);
  state.counters["sigmas"] = neighbour_sigmas(design);
}

#define DESIGN(...) BENCHMARK(one_index<__VA_ARGS__>)->Arg(kMillion)->Arg(kBillion)->Arg(kAbovePower)
DESIGN(SplitByShift<two_products, 4>);
DESIGN(SplitByShift<two_products, 6>);
DESIGN(SplitByShift<two_products, 8>);
DESIGN(SplitByShift<one_product, 8>);
DESIGN(SplitByShift<one_product, 12>);
DESIGN(SplitByShift<philox_product, 8>);
DESIGN(SplitByDivision<8>);
DESIGN(PowerOfFour<8>);
DESIGN(MixInPowerOfTwo<3>);
DESIGN(MixInPowerOfTwo<6>);
DESIGN(SwapOrNot<64>);
DESIGN(SwapOrNot<180>);

}  // namespace
}  // namespace forebay

BENCHMARK_MAIN();
