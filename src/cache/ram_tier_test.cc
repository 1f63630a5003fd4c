#include "cache/ram_tier.h"

#include "cache/cache_test_support.h"
#include "cache/seen_entries.h"
#include "forebay/stats/cache.h"

namespace forebay {
namespace {

constexpr uint64_t kEntry = 10'000;

uint64_t room_of_entries(uint64_t count) { return count * (kEntry + RamTier::overhead_bytes(columns_of_seed(1, 10))); }

TEST(RamTier, KeepsUpToItsBudgetAndThenKeepsWhatItHas) {
  RamTier ram(room_of_entries(3));
  for (uint64_t i = 0; i < 10; ++i) EXPECT_EQ(ram.put(id_of(i), shared_columns(i, 10), kEntry, 0.01, false), i < 3);
  for (uint64_t i = 0; i < 10; ++i) EXPECT_EQ(ram.find(id_of(i)) != nullptr, i < 3);
  const TierStats stats = ram.stats();
  EXPECT_EQ(stats.entries, 3u);
  EXPECT_EQ(stats.declined, 7u);
  EXPECT_EQ(stats.hits, 3u);
  EXPECT_LE(stats.bytes, stats.budget_bytes);
  EXPECT_FALSE(ram.fits(kEntry));
}

TEST(RamTier, WhatIsOnDiskTooGivesWayToWhatIsNot) {
  RamTier ram(room_of_entries(2));
  EXPECT_TRUE(ram.put(id_of(1), shared_columns(1, 10), kEntry, 0.01, true));
  EXPECT_TRUE(ram.put(id_of(2), shared_columns(2, 10), kEntry, 0.01, true));
  EXPECT_FALSE(ram.free_for(kEntry));
  EXPECT_TRUE(ram.fits(kEntry));
  EXPECT_TRUE(ram.put(id_of(3), shared_columns(3, 10), kEntry, 0.01, false));
  EXPECT_TRUE(ram.put(id_of(4), shared_columns(4, 10), kEntry, 0.01, false));
  EXPECT_FALSE(ram.put(id_of(5), shared_columns(5, 10), kEntry, 0.01, false));
  EXPECT_EQ(ram.find(id_of(1)), nullptr);
  EXPECT_NE(ram.find(id_of(3)), nullptr);
  EXPECT_NE(ram.find(id_of(4)), nullptr);
}

TEST(RamTier, WhatSavesNothingGivesWayToWhatDoes) {
  RamTier ram(room_of_entries(2));
  EXPECT_TRUE(ram.put(id_of(1), shared_columns(1, 10), kEntry, 0, false));
  EXPECT_TRUE(ram.put(id_of(2), shared_columns(2, 10), kEntry, 0, false));
  EXPECT_TRUE(ram.fits(kEntry)) << "or nobody would offer more";
  EXPECT_FALSE(ram.put(id_of(3), shared_columns(3, 10), kEntry, 0, false));
  EXPECT_TRUE(ram.put(id_of(4), shared_columns(4, 10), kEntry, 0.01, false));
  EXPECT_TRUE(ram.put(id_of(5), shared_columns(5, 10), kEntry, 0.01, false));
  EXPECT_FALSE(ram.fits(kEntry));
  EXPECT_NE(ram.find(id_of(4)), nullptr);
  EXPECT_NE(ram.find(id_of(5)), nullptr);
}

TEST(RamTier, WhatWouldTakeTooManyOfThemDoesNotFit) {
  constexpr uint64_t kMany = 100, kLarge = 90 * kEntry;
  RamTier ram(room_of_entries(kMany));
  for (uint64_t i = 0; i < kMany; ++i) EXPECT_TRUE(ram.put(id_of(i), shared_columns(1, 10), kEntry, 0, false));
  EXPECT_FALSE(ram.fits(kLarge)) << "or it would be prepared in vain each time";
  EXPECT_FALSE(ram.put(id_of(kMany), shared_columns(1, 10), kLarge, 1, false));
  EXPECT_EQ(ram.stats().entries, kMany);
}

TEST(RamTier, AnEntryGivenAwayLivesAsLongAsItsReaders) {
  RamTier ram(room_of_entries(1));
  EXPECT_TRUE(ram.put(id_of(1), shared_columns(1, 10), kEntry, 0.01, true));
  const auto held = ram.find(id_of(1));
  EXPECT_TRUE(ram.put(id_of(2), shared_columns(2, 10), kEntry, 10, false));
  EXPECT_EQ(ram.find(id_of(1)), nullptr);
  EXPECT_TRUE(same_columns(*held, columns_of_seed(1, 10)));
}

TEST(RamTier, ATierWithoutABudgetKeepsNothing) {
  RamTier ram(0);
  EXPECT_FALSE(ram.put(id_of(1), shared_columns(1, 10), kEntry, 1, false));
  EXPECT_FALSE(ram.fits(1));
}

TEST(SeenEntries, CountsDifferentEntriesExactlyWhileTheyAreFew) {
  SeenEntries seen;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (uint64_t i = 0; i < 5000; ++i) seen.add(id_of(i));
  }
  EXPECT_EQ(seen.count(), 5000u);
}

TEST(SeenEntries, EstimatesManyWithinAFewPerCent) {
  SeenEntries seen;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (uint64_t i = 0; i < 1'000'000; ++i) seen.add(id_of(i));
  }
  EXPECT_NEAR(static_cast<double>(seen.count()), 1e6, 5e4);
}

TEST(RamTier, GivesBackTheCheapestEntriesFirst) {
  RamTier ram(room_of_entries(4));
  const double seconds[] = {0.04, 0.01, 0.03};
  for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(ram.put(id_of(i), shared_columns(i, 10), kEntry, seconds[i], false));
  EXPECT_EQ(ram.bytes(), room_of_entries(3));
  const auto used = ram.find(id_of(1));
  EXPECT_EQ(ram.reclaim(1), room_of_entries(1));
  EXPECT_FALSE(ram.has(id_of(1)));
  EXPECT_NE(used, nullptr) << "whoever uses it has it still";
  EXPECT_TRUE(ram.has(id_of(2)));
  EXPECT_EQ(ram.reclaim(room_of_entries(1) + 1), room_of_entries(2));
  EXPECT_EQ(ram.bytes(), 0u);
  EXPECT_EQ(ram.reclaim(1), 0u);
  EXPECT_TRUE(ram.put(id_of(1), shared_columns(1, 10), kEntry, 0.01, false));
}

}  // namespace
}  // namespace forebay
