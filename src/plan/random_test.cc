#include "plan/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "plan/philox.h"
#include "plan/test_statistics.h"

namespace forebay {
namespace {

std::vector<uint32_t> words(const SampleKey& key, uint32_t operation, int count) {
  RandomStream stream(key, operation);
  std::vector<uint32_t> out;
  for (int i = 0; i < count; ++i) out.push_back(stream.next_u32());
  return out;
}

TEST(RandomTest, golden_values_never_change) {
  EXPECT_EQ(words({}, 0, 6),
            (std::vector<uint32_t>{0xcb63db8c, 0x50282a4d, 0xf5b1dcfb, 0x8afd3d08, 0x5d36c824, 0x3d02504b}));
  EXPECT_EQ(words({7, 3, 123456789012, 1}, 5, 6),
            (std::vector<uint32_t>{0xe59f0e43, 0x8ab54534, 0x73b1bdf0, 0x361b5e47, 0xcb327903, 0x9d44b471}));
  RandomStream stream({7, 3, 42, 0}, 1);
  EXPECT_EQ(stream.next_u64(), 0x78a1212c1a1b62f5u);
  EXPECT_EQ(stream.uniform(), 0x1.2168c23c9f21ep-1);
  EXPECT_EQ(stream.uniform(-1, 3), 0x1.2ccac6facaa49p+1);
  EXPECT_EQ(stream.below(1000), 873u);
  EXPECT_EQ(stream.below(uint64_t{1} << 40), 740170782895u);
}

TEST(RandomTest, the_derivation_is_the_documented_one) {
  const PhiloxCounter outer = philox4x32({0x11, 0x22, 0x33, 0x44}, {0x55, 0x66});
  const SampleKey key{0x66'00000055, 0x22'00000011, 0x88'00000077, 0x44'00000033};
  const std::vector<uint32_t> got = words(key, 9, 12);
  for (uint32_t block = 0; block < 3; ++block) {
    const PhiloxCounter want = philox4x32({block, 9, 0x77 ^ outer[2], 0x88 ^ outer[3]}, {outer[0], outer[1]});
    EXPECT_TRUE(std::equal(want.begin(), want.end(), got.begin() + 4 * block)) << block;
  }
}

TEST(RandomTest, equal_keys_give_equal_numbers) { EXPECT_EQ(words({1, 2, 3, 4}, 5, 100), words({1, 2, 3, 4}, 5, 100)); }

// Flips every bit of every input, one at a time: about half of the output bits must change.
TEST(RandomTest, each_input_changes_the_stream) {
  const SampleKey base{7, 3, 1000, 0};
  const std::vector<uint32_t> reference = words(base, 2, 32);
  const auto expect_unrelated = [&](const SampleKey& key, uint32_t operation, const char* input, int bit) {
    const std::vector<uint32_t> other = words(key, operation, 32);
    int changed = 0;
    for (size_t i = 0; i < other.size(); ++i) changed += std::popcount(other[i] ^ reference[i]);
    EXPECT_NEAR(changed, 512, 90) << input << " bit " << bit;  // 5.6 standard deviations
  };
  for (int bit = 0; bit < 64; ++bit) {
    const int64_t flip = static_cast<int64_t>(uint64_t{1} << bit);
    expect_unrelated({base.seed ^ static_cast<uint64_t>(flip), base.epoch, base.id, base.occurrence}, 2, "seed", bit);
    expect_unrelated({base.seed, base.epoch ^ flip, base.id, base.occurrence}, 2, "epoch", bit);
    expect_unrelated({base.seed, base.epoch, base.id ^ flip, base.occurrence}, 2, "id", bit);
    expect_unrelated({base.seed, base.epoch, base.id, base.occurrence ^ flip}, 2, "occurrence", bit);
    if (bit < 32) expect_unrelated(base, 2 ^ static_cast<uint32_t>(flip), "operation", bit);
  }
}

TEST(RandomTest, no_two_streams_share_numbers) {
  std::set<uint64_t> seen;
  size_t drawn = 0;
  for (uint64_t seed : {0, 1, 2, 7}) {
    for (int64_t epoch = 0; epoch < 6; ++epoch) {
      for (int64_t id = 0; id < 50; ++id) {
        for (int64_t occurrence = 0; occurrence < 4; ++occurrence) {
          for (uint32_t operation = 0; operation < 5; ++operation) {
            RandomStream stream({seed, epoch, id, occurrence}, operation);
            for (int i = 0; i < 4; ++i, ++drawn) seen.insert(stream.next_u64());
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), drawn);
}

TEST(RandomTest, uniform_is_even_and_stays_in_range) {
  std::vector<int64_t> counts(1000);
  for (int64_t id = 0; id < 100'000; ++id) {
    RandomStream stream({11, 0, id, 0}, 0);
    for (int i = 0; i < 5; ++i) {
      const double u = stream.uniform();
      ASSERT_TRUE(u >= 0 && u < 1) << u;
      ASSERT_EQ(std::ldexp(u, 53), std::floor(std::ldexp(u, 53)));
      ++counts[static_cast<size_t>(u * 1000)];
    }
  }
  EXPECT_LT(std::abs(chi_square_sigmas(counts)), 4);
}

TEST(RandomTest, uniform_never_reaches_the_upper_end) {
  RandomStream stream({1, 1, 1, 0}, 0);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(stream.uniform(1, std::nextafter(1.0, 2.0)), 1.0);
    EXPECT_EQ(stream.uniform(2.5, 2.5), 2.5);
    const double x = stream.uniform(-3, 5);
    EXPECT_TRUE(x >= -3 && x < 5) << x;
  }
}

// The first numbers of neighbouring samples, as crops and flips use them.
TEST(RandomTest, first_draws_of_neighbouring_samples_are_unrelated) {
  constexpr size_t kCells = 32;
  std::vector<int64_t> ids(kCells * kCells), epochs(kCells * kCells), operations(kCells * kCells);
  const auto cell = [](const SampleKey& key, uint32_t operation) {
    return static_cast<size_t>(RandomStream(key, operation).uniform() * kCells);
  };
  for (int64_t id = 0; id < 100'000; ++id) {
    const size_t here = cell({3, 4, id, 0}, 0) * kCells;
    ++ids[here + cell({3, 4, id + 1, 0}, 0)];
    ++epochs[here + cell({3, 5, id, 0}, 0)];
    ++operations[here + cell({3, 4, id, 0}, 1)];
  }
  EXPECT_LT(std::abs(chi_square_sigmas(ids)), 4);
  EXPECT_LT(std::abs(chi_square_sigmas(epochs)), 4);
  EXPECT_LT(std::abs(chi_square_sigmas(operations)), 4);
}

// For these bounds a modulo, or a product without rejection, prefers some values by a factor of
// two.
TEST(RandomTest, below_is_unbiased) {
  for (const uint64_t bound : {uint64_t{3}, uint64_t{3} << 30, uint64_t{3} << 62}) {
    std::vector<int64_t> thirds(3), remainders(3);
    RandomStream stream({bound, 0, 0, 0}, 0);
    for (int i = 0; i < 300'000; ++i) {
      const uint64_t value = stream.below(bound);
      ASSERT_LT(value, bound);
      ++thirds[value / (bound / 3)];
      ++remainders[value % 3];
    }
    EXPECT_LT(chi_square_sigmas(thirds), 5) << bound;
    EXPECT_LT(chi_square_sigmas(remainders), 5) << bound;
  }
}

TEST(RandomTest, below_reaches_every_value) {
  RandomStream stream({}, 0);
  EXPECT_EQ(stream.below(1), 0u);
  std::vector<int64_t> counts(1000);
  for (int i = 0; i < 1'000'000; ++i) ++counts[stream.below(1000)];
  EXPECT_LT(std::abs(chi_square_sigmas(counts)), 4);
}

}  // namespace
}  // namespace forebay
