#include "base/work_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace forebay {
namespace {

TEST(WorkMemory, reserving_beyond_the_grant_says_how_much_would_do) {
  WorkMemory memory(100);
  EXPECT_TRUE(memory.reserve(60).ok());
  const Status status = memory.reserve(50);
  EXPECT_EQ(status.code(), Code::kOutOfBudget);
  EXPECT_EQ(status.bytes_needed(), 110u);
  EXPECT_EQ(memory.reserved(), 60u) << "a refusal takes nothing";
  memory.release(20);
  EXPECT_TRUE(memory.reserve(60).ok());
}

TEST(WorkMemory, exactly_the_grant_fits) {
  WorkMemory memory(100);
  EXPECT_TRUE(memory.reserve(100).ok());
  EXPECT_TRUE(memory.reserve(0).ok());
  EXPECT_FALSE(memory.reserve(1).ok());
}

TEST(WorkMemory, a_new_task_begins_with_nothing_reserved) {
  WorkMemory memory(10);
  ASSERT_TRUE(memory.reserve(10).ok());
  memory.begin_task(20, 0);
  EXPECT_EQ(memory.reserved(), 0u);
  EXPECT_EQ(memory.grant(), 20u);
  EXPECT_TRUE(memory.reserve(20).ok());
}

TEST(WorkMemory, scratch_is_aligned_reused_and_readable_a_little_further) {
  WorkMemory memory;
  const std::span<uint8_t> first = memory.scratch(0, 1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first.data()) % 64, 0u);
  EXPECT_EQ(first.size(), 1000u);
  std::memset(first.data(), 7, first.size() + 64);
  EXPECT_EQ(memory.scratch(0, 500).data(), first.data()) << "smaller fits in what is there";
  EXPECT_NE(memory.scratch(1, 10).data(), first.data());
}

TEST(WorkMemory, large_scratch_is_given_back_between_tasks) {
  WorkMemory memory;
  std::memset(memory.scratch(0, 100).data(), 1, 100);
  std::memset(memory.scratch(1, 1 << 20).data(), 2, 1 << 20);
  memory.begin_task(UINT64_MAX, 1000);
  EXPECT_EQ(memory.scratch(0, 100)[0], 1) << "what fits into `keep` stays";
  EXPECT_EQ(memory.scratch(1, 1 << 10).size(), size_t{1} << 10);
}

TEST(WorkMemory, a_need_beyond_all_numbers_is_never_told_as_a_small_one) {
  WorkMemory memory(100);
  ASSERT_TRUE(memory.reserve(60).ok());
  for (const uint64_t bytes : {UINT64_MAX, UINT64_MAX - 10, UINT64_MAX - 60}) {
    const Status status = memory.reserve(bytes);
    EXPECT_EQ(status.code(), Code::kOutOfBudget);
    EXPECT_GE(status.bytes_needed(), UINT64_MAX - 60) << "a figure that wrapped around would be granted";
  }
  EXPECT_EQ(memory.reserved(), 60u);
}

}  // namespace
}  // namespace forebay
