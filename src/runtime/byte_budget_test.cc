#include "runtime/byte_budget.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace forebay {
namespace {

TEST(ByteBudget, takes_what_fits_and_nothing_else) {
  ByteBudget budget(100);
  EXPECT_TRUE(budget.try_charge(Use::kFetched, 60));
  EXPECT_FALSE(budget.try_charge(Use::kBatches, 41));
  EXPECT_TRUE(budget.try_charge(Use::kBatches, 40));
  EXPECT_FALSE(budget.try_charge(Use::kFetched, UINT64_MAX));
  EXPECT_EQ(budget.snapshot().used, 100u);
  budget.release(Use::kFetched, 60);
  EXPECT_EQ(budget.snapshot().used, 40u);
  EXPECT_EQ(budget.snapshot().peak, 100u);
}

TEST(ByteBudget, what_exists_already_counts_even_beyond_the_capacity) {
  ByteBudget budget(100);
  budget.charge_existing(Use::kFetched, 150);
  EXPECT_EQ(budget.snapshot().used, 150u);
  EXPECT_FALSE(budget.try_charge(Use::kBatches, 1));
  budget.release(Use::kFetched, 51);
  EXPECT_TRUE(budget.try_charge(Use::kBatches, 1));
}

TEST(ByteBudget, moving_changes_the_use_and_not_the_sum) {
  ByteBudget budget(100);
  ASSERT_TRUE(budget.try_charge(Use::kPool, 30));
  budget.move(Use::kPool, Use::kBatches, 20);
  const ByteBudget::Snapshot now = budget.snapshot();
  EXPECT_EQ(now.used, 30u);
  EXPECT_EQ(now.by_use[static_cast<size_t>(Use::kPool)], 10u);
  EXPECT_EQ(now.by_use[static_cast<size_t>(Use::kBatches)], 20u);
}

TEST(ByteBudget, many_threads_never_exceed_it) {
  ByteBudget budget(1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 1; i < 5000; ++i) {
        const auto bytes = static_cast<uint64_t>(i % 400);
        if (budget.try_charge(Use::kWorking, bytes)) budget.release(Use::kWorking, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.snapshot().used, 0u);
  EXPECT_LE(budget.snapshot().peak, 1000u);
}

}  // namespace
}  // namespace forebay
