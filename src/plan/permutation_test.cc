#include "plan/permutation.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace forebay {
namespace {

PermutationKey key_of(uint64_t seed, int64_t epoch = 0) {
  return PermutationKey::root(seed, PermutationKey::Use::kOrder).child(epoch);
}

// Checks that every index occurs once, and that the inverse maps each one (or each `stride`-th)
// back.
void expect_bijection(int64_t size, const PermutationKey& key, int64_t stride) {
  const Permutation permutation(size, key);
  std::vector<bool> seen(static_cast<size_t>(size));
  for (int64_t position = 0; position < size; ++position) {
    const int64_t index = permutation.at(position);
    ASSERT_TRUE(index >= 0 && index < size) << size << " at " << position;
    ASSERT_FALSE(seen[static_cast<size_t>(index)]) << size << " at " << position;
    seen[static_cast<size_t>(index)] = true;
    if (position % stride != 0) continue;
    ASSERT_EQ(permutation.position_of(index), position) << size;
  }
}

TEST(PermutationTest, every_index_once_for_every_size_to_2000) {
  for (int64_t size = 1; size <= 2000; ++size) {
    expect_bijection(size, key_of(static_cast<uint64_t>(size), size % 5), 1);
    if (HasFatalFailure()) return;
  }
}

TEST(PermutationTest, many_at_once_are_those_one_by_one) {
  for (int64_t size = 1; size <= 4000; size += 1 + size / 9) {
    const Permutation permutation(size, key_of(static_cast<uint64_t>(size)));
    for (const int64_t most :
         {size, size / 2, int64_t{39}, int64_t{13}, int64_t{8}, int64_t{5}, int64_t{4}, int64_t{1}, int64_t{0}}) {
      const int64_t count = std::min(most, size);
      std::vector<int64_t> values(static_cast<size_t>(count));
      std::iota(values.begin(), values.end(), size - count);
      permutation.at_each(values);
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], permutation.at(size - count + i));
      permutation.position_of_each(values);
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], size - count + i);
    }
  }
}

// Halves of 2^32 and more do not fit the vector code and are computed one by one.
TEST(PermutationTest, many_at_once_of_large_sizes_are_those_one_by_one) {
  for (const int64_t size : {int64_t{1'000'003}, (int64_t{1} << 30) + 1, int64_t{1'000'000'000'000},
                             (int64_t{1} << 62) - 1, (int64_t{1} << 62) + 12345, INT64_MAX}) {
    const Permutation permutation(size, key_of(static_cast<uint64_t>(size)));
    std::vector<int64_t> values(1000);
    for (size_t i = 0; i < values.size(); ++i) values[i] = size - 1 - static_cast<int64_t>(i) * (size / 1001);
    const std::vector<int64_t> positions = values;
    permutation.at_each(values);
    for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], permutation.at(positions[i])) << size << ' ' << i;
    permutation.position_of_each(values);
    ASSERT_EQ(values, positions) << size;
  }
}

TEST(PermutationTest, every_index_once_for_sizes_to_a_million) {
  std::set<int64_t> sizes{1'000'000, 999'999, 65'535, 65'536, 65'537};
  for (int64_t size = 2001; size < 1'000'000; size += 9973) sizes.insert(size);
  for (int64_t power = 2048; power < 1'000'000; power *= 2) sizes.insert({power - 1, power, power + 1});
  for (int64_t root : {45, 101, 256, 511, 1000}) sizes.insert({root * root - 1, root * root, root * (root + 1)});
  for (int64_t size : sizes) {
    expect_bijection(size, key_of(17, size), 11);
    if (HasFatalFailure()) return;
  }
}

TEST(PermutationTest, inverse_holds_at_huge_sizes) {
  std::vector<int64_t> sizes{1'000'000'000, 1'000'000'000'000, (int64_t{1} << 62)};
  for (int bits = 7; bits < 62; ++bits) sizes.insert(sizes.end(), {(int64_t{1} << bits) - 1, (int64_t{1} << bits) + 1});
  for (int64_t size : sizes) {
    const Permutation permutation(size, key_of(3, 9));
    for (int64_t i = 0; i < 500; ++i) {
      const int64_t position = static_cast<int64_t>(PermutationKey::mix(static_cast<uint64_t>(i)) >> 1) % size;
      for (int64_t p : {position, i % size, size - 1 - i % size}) {
        const int64_t index = permutation.at(p);
        ASSERT_TRUE(index >= 0 && index < size) << size;
        ASSERT_EQ(permutation.position_of(index), p) << size;
        ASSERT_EQ(permutation.at(permutation.position_of(p)), p) << size;
      }
    }
  }
}

// Bounds the time of one index: pairs outside [0, size) are rarer than one in its square root.
TEST(PermutationTest, nearly_every_index_takes_one_pass) {
  for (int bits = 7; bits <= 62; ++bits) {
    for (int64_t size : {(int64_t{1} << bits) - 1, int64_t{1} << bits, (int64_t{1} << bits) + (bits < 62 ? 1 : 0)}) {
      const PermutationShape shape = PermutationShape::of(size);
      const int64_t pairs = static_cast<int64_t>(shape.left_size << shape.right_bits);
      ASSERT_GE(pairs, size);
      ASSERT_LT(pairs - size, int64_t{1} << shape.right_bits) << size;
      ASSERT_LT((int64_t{1} << (2 * shape.right_bits)) / 2, size) << size;
    }
  }
}

TEST(PermutationTest, golden_values_never_change) {
  const auto first = [](int64_t size, uint64_t seed, int64_t epoch) {
    const Permutation permutation(size, key_of(seed, epoch));
    std::vector<int64_t> out;
    for (int64_t p = 0; p < 5; ++p) out.push_back(permutation.at(p));
    return out;
  };
  EXPECT_EQ(first(5, 7, 0), (std::vector<int64_t>{3, 1, 4, 0, 2}));
  EXPECT_EQ(first(64, 7, 1), (std::vector<int64_t>{7, 43, 9, 22, 58}));
  EXPECT_EQ(first(65, 7, 1), (std::vector<int64_t>{15, 17, 37, 9, 16}));
  EXPECT_EQ(first(2100, 7, 3), (std::vector<int64_t>{1686, 185, 1704, 848, 201}));
  EXPECT_EQ(first(1'281'167, 7, 3), (std::vector<int64_t>{153185, 535558, 880067, 164399, 870162}));
  EXPECT_EQ(first(1'000'000'000'000, ~uint64_t{0}, 1000),
            (std::vector<int64_t>{27985692564, 665765924988, 262648331582, 980465348306, 815636636580}));
}

TEST(PermutationTest, children_and_uses_have_keys_of_their_own) {
  std::set<uint64_t> seen;
  size_t made = 0;
  using Use = PermutationKey::Use;
  for (Use use : {Use::kOrder, Use::kChunks, Use::kBlock, Use::kReplacement, Use::kUnionWindow, Use::kMixWindow,
                  Use::kDrawnLine, Use::kClass}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      for (int64_t epoch = 0; epoch < 20; ++epoch) {
        for (int64_t part = 0; part < 10; ++part) {
          const PermutationKey key = PermutationKey::root(seed, use).child(epoch).child(part);
          seen.insert({key.a, key.b});
          made += 2;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), made);
}

}  // namespace
}  // namespace forebay
