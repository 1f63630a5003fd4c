#include "store/range.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

namespace forebay {
namespace {

ReadRequest part_of(uint64_t offset, uint64_t length) {
  ReadRequest request;
  request.range = ByteRange{offset, length};
  return request;
}

TEST(ResolveRange, without_a_range_is_all_of_the_object) {
  const auto range = resolve_range({}, 10);
  ASSERT_TRUE(range.ok());
  EXPECT_EQ(range->offset, 0u);
  EXPECT_EQ(range->length, 10u);
}

TEST(ResolveRange, is_taken_exactly_where_all_of_it_lies_inside) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  std::mt19937_64 random(1);
  const auto pick = [&]() -> uint64_t {
    switch (random() % 4) {
      case 0: return random() % 20;
      case 1: return kMost - random() % 20;
      case 2: return random();
      default: return 10;
    }
  };
  int inside = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    const uint64_t size = pick(), offset = pick(), length = pick();
    __extension__ using Wide = unsigned __int128;  // sums that do not overflow
    const bool fits = Wide{offset} + length <= size;
    inside += fits ? 1 : 0;
    const auto range = resolve_range(part_of(offset, length), size);
    ASSERT_EQ(range.ok(), fits) << offset << " + " << length << " of " << size;
    if (fits) continue;
    ASSERT_EQ(range.status().code(), Code::kCorrupt);
    ASSERT_TRUE(range.status().range());
    ASSERT_EQ(range.status().range()->offset, offset);
  }
  EXPECT_GT(inside, 100);
}

TEST(ResolveRange, an_object_of_another_size_than_expected_has_changed_whatever_the_range) {
  ReadRequest request = part_of(0, 3);
  request.expected_size = 10;
  EXPECT_TRUE(resolve_range(request, 10).ok());
  for (const uint64_t size : {0, 9, 11}) {
    const auto range = resolve_range(request, size);
    EXPECT_EQ(range.status().code(), Code::kCorrupt);
    EXPECT_EQ(range.status().message(), "changed: the listing said 10 bytes, now " + std::to_string(size));
  }
}

TEST(ResolveRange, what_was_set_aside_bounds_the_part_and_not_the_object) {
  ReadRequest request = part_of(5, 3);
  request.set_aside_bytes = 3;
  EXPECT_TRUE(resolve_range(request, 1'000'000).ok());
  request.set_aside_bytes = 2;
  const auto refused = resolve_range(request, 1'000'000);
  EXPECT_EQ(refused.status().code(), Code::kOutOfBudget);
  EXPECT_EQ(refused.status().bytes_needed(), 3u);
}

// A server may refuse a body larger than the reader's memory before the size is known.
TEST(ReadFailure, a_whole_object_too_long_for_what_was_set_aside_is_a_matter_of_memory) {
  const Status too_long = unsupported("longer than allowed").with_bytes_needed(500);
  ReadRequest whole;
  EXPECT_EQ(read_failure(whole, too_long).code(), Code::kUnsupported) << "nothing was set aside";
  whole.set_aside_bytes = 100;
  EXPECT_EQ(read_failure(whole, too_long).code(), Code::kOutOfBudget);
  EXPECT_EQ(read_failure(whole, too_long).bytes_needed(), 500u);
  whole.set_aside_bytes = 500;
  EXPECT_EQ(read_failure(whole, too_long).code(), Code::kUnsupported) << "that much was there";
  whole.set_aside_bytes = 100;
  EXPECT_EQ(read_failure(whole, corrupt("broken")).code(), Code::kCorrupt);
  ReadRequest part = part_of(0, 100);
  part.set_aside_bytes = 100;
  EXPECT_EQ(read_failure(part, too_long).code(), Code::kUnsupported) << "a server that knows no ranges";
}

}  // namespace
}  // namespace forebay
