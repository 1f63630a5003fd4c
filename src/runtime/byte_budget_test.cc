#include "runtime/byte_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/claim.h"

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
  EXPECT_EQ(now.of(Use::kPool), 10u);
  EXPECT_EQ(now.of(Use::kBatches), 20u);
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

/// Holds that many bytes, and frees `step` at a time.
struct FakeMemory final : ReclaimableMemory {
  FakeMemory(uint64_t has, uint64_t at_a_time = 1) : held(has), step(at_a_time) {}
  uint64_t bytes() const override { return held; }
  uint64_t reclaim(uint64_t asked) override {
    const uint64_t before = held;
    while (held > 0 && before - held < asked) held -= std::min(held, step);
    return before - held;
  }
  uint64_t held, step;
};

TEST(ByteBudget, what_is_kept_beside_counts_by_its_use) {
  ByteBudget budget(100);
  const auto reads = std::make_shared<FakeMemory>(20), caches = std::make_shared<FakeMemory>(30);
  budget.open({Use::kReads, reads, ByteBudget::Kind::kIdle});
  budget.open({Use::kCaches, caches, ByteBudget::Kind::kEntries});
  ASSERT_TRUE(budget.try_charge(Use::kBatches, 50));
  EXPECT_FALSE(budget.try_charge(Use::kBatches, 1));
  const ByteBudget::Snapshot now = budget.snapshot();
  EXPECT_EQ(now.used, 100u);
  EXPECT_EQ(now.peak, 100u);
  EXPECT_EQ(now.idle, 20u);
  EXPECT_EQ(now.of(Use::kReads), 20u);
  EXPECT_EQ(now.of(Use::kCaches), 30u);
  reads->held = 0;
  EXPECT_TRUE(budget.try_charge(Use::kBatches, 20));
  budget.close_accounts();
  EXPECT_EQ(budget.snapshot().used, 70u);
  EXPECT_EQ(reads.use_count(), 1);
}

TEST(ByteBudget, as_much_is_given_back_as_lacks_and_of_one_kind) {
  ByteBudget budget(100);
  const auto reads = std::make_shared<FakeMemory>(40, 8), caches = std::make_shared<FakeMemory>(40);
  budget.open({Use::kReads, reads, ByteBudget::Kind::kIdle});
  budget.open({Use::kCaches, caches, ByteBudget::Kind::kEntries});
  EXPECT_FALSE(budget.reclaim(ByteBudget::Kind::kIdle, 20)) << "it is there";
  EXPECT_TRUE(budget.reclaim(ByteBudget::Kind::kIdle, 30));
  EXPECT_EQ(reads->held, 24u);
  EXPECT_EQ(caches->held, 40u);
  EXPECT_TRUE(budget.reclaim(ByteBudget::Kind::kEntries, 50));
  EXPECT_EQ(caches->held, 26u);
  EXPECT_TRUE(budget.reclaim(ByteBudget::Kind::kIdle, 500));
  EXPECT_FALSE(budget.reclaim(ByteBudget::Kind::kIdle, 500)) << "nothing is left";
}

TEST(ByteBudget, what_others_keep_beyond_what_counts_goes_first) {
  ByteBudget budget(100);
  const auto cache = std::make_shared<FakeMemory>(1000);
  budget.open({Use::kCaches, cache, ByteBudget::Kind::kEntries, 50});
  EXPECT_EQ(budget.snapshot().used, 50u);
  ASSERT_TRUE(budget.try_charge(Use::kBatches, 50));
  EXPECT_TRUE(budget.reclaim(ByteBudget::Kind::kEntries, 10));
  EXPECT_EQ(cache->held, 40u);
  EXPECT_TRUE(budget.try_charge(Use::kBatches, 10));
}

TEST(ByteBudget, what_is_set_aside_for_entries_nobody_takes_before_they_come) {
  ByteBudget budget(100);
  const auto cache = std::make_shared<FakeMemory>(10);
  budget.open({Use::kCaches, cache, ByteBudget::Kind::kEntries, 50, /*reserved=*/50});
  EXPECT_EQ(budget.snapshot().used, 10u);
  EXPECT_EQ(budget.snapshot().reserved, 40u);
  EXPECT_TRUE(budget.try_charge(Use::kBatches, 50));
  EXPECT_FALSE(budget.try_charge(Use::kBatches, 1));
  EXPECT_FALSE(budget.reclaim(ByteBudget::Kind::kIdle, 1));
  cache->held = 50;
  EXPECT_EQ(budget.snapshot().used, 100u) << "they came, and nobody has to give way";
  EXPECT_EQ(budget.snapshot().reserved, 0u);
}

TEST(ByteBudget, what_is_set_aside_is_lent_before_an_entry_goes_and_comes_back_with_what_is_released) {
  ByteBudget budget(100);
  const auto cache = std::make_shared<FakeMemory>(30);
  budget.open({Use::kCaches, cache, ByteBudget::Kind::kEntries, 50, /*reserved=*/50});
  ASSERT_TRUE(budget.try_charge(Use::kBatches, 50));
  EXPECT_TRUE(budget.reclaim(ByteBudget::Kind::kEntries, 15));
  EXPECT_EQ(cache->held, 30u);
  ASSERT_TRUE(budget.try_charge(Use::kBatches, 15));
  EXPECT_FALSE(budget.try_charge(Use::kBatches, 1)) << "no more than was asked for";
  EXPECT_TRUE(budget.reclaim(ByteBudget::Kind::kEntries, 10));
  EXPECT_EQ(cache->held, 25u) << "there was room for half of it";
  ASSERT_TRUE(budget.try_charge(Use::kBatches, 10));
  EXPECT_FALSE(budget.try_charge(Use::kBatches, 1));
  budget.release(Use::kBatches, 25);
  EXPECT_EQ(budget.snapshot().reserved, 25u);
  EXPECT_FALSE(budget.try_charge(Use::kBatches, 1)) << "the room of what went is for entries again";
  EXPECT_FALSE(budget.reclaim(ByteBudget::Kind::kEntries, 0));
}

TEST(ByteBudget, a_claim_gets_what_only_idles) {
  const auto budget = std::make_shared<ByteBudget>(100);
  const auto reads = std::make_shared<FakeMemory>(60), caches = std::make_shared<FakeMemory>(30);
  budget->open({Use::kReads, reads, ByteBudget::Kind::kIdle});
  budget->open({Use::kCaches, caches, ByteBudget::Kind::kEntries});
  std::optional<Claim> claim = Claim::take(budget, Use::kFetched, 50);
  ASSERT_TRUE(claim);
  EXPECT_EQ(reads->held, 20u);
  EXPECT_TRUE(claim->try_grow(20));
  EXPECT_EQ(reads->held, 0u);
  EXPECT_FALSE(claim->try_grow(1)) << "entries are not for anybody";
  EXPECT_EQ(caches->held, 30u);
}

}  // namespace
}  // namespace forebay
