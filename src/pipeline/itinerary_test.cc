#include "pipeline/itinerary.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

IndexedItinerary itinerary(int64_t n, int64_t batch, std::optional<int64_t> epochs = std::nullopt,
                           LastPolicy last = LastPolicy::kPartial, int64_t world = 1, int64_t rank = 0) {
  return IndexedItinerary(sequential_order(n), BranchSamples{first_samples(n), 7},
                          EqualBatches({.epoch_size = n, .batch_size = batch, .world_size = world, .last = last}), rank,
                          epochs);
}

TEST(Itinerary, walks_through_epochs_without_end) {
  const IndexedItinerary plan = itinerary(10, 4);
  Cursor at;
  std::vector<Cursor> seen;
  for (int i = 0; i < 5; ++i) {
    const std::optional<StepPlan> step = plan.planned(at);
    ASSERT_TRUE(step);
    seen.push_back(step->at);
    at = step->after;
  }
  EXPECT_EQ(seen, (std::vector<Cursor>{{0, 0, 0}, {0, 4, 1}, {0, 8, 2}, {1, 0, 0}, {1, 4, 1}}));
  EXPECT_FALSE(plan.finished({1'000'000, 0, 0}));
}

TEST(Itinerary, ends_after_the_last_epoch) {
  const IndexedItinerary plan = itinerary(10, 4, 2);
  EXPECT_TRUE(plan.planned({1, 8, 2}));
  EXPECT_FALSE(plan.planned({1, 10, 3}));
  EXPECT_FALSE(plan.planned({2, 0, 0}));
  EXPECT_TRUE(plan.finished({1, 10, 3}));
  EXPECT_FALSE(plan.finished({1, 9, 3}));
  EXPECT_TRUE(itinerary(10, 4, 0).finished({}));
}

TEST(Itinerary, counts_batches_done_plus_left) {
  const IndexedItinerary plan = itinerary(10, 4);
  EXPECT_EQ(plan.batches({0, 0, 0}), 3);
  EXPECT_EQ(plan.batches({0, 4, 1}), 3);
  EXPECT_EQ(plan.batches({0, 2, 2}), 4) << "two smaller ones were taken before a resume";
}

TEST(Itinerary, without_a_whole_batch_there_is_nothing_to_do) {
  const IndexedItinerary plan = itinerary(3, 4, std::nullopt, LastPolicy::kDrop);
  EXPECT_TRUE(plan.finished({}));
  EXPECT_FALSE(plan.planned({}));
  EXPECT_TRUE(itinerary(0, 4).finished({}));
}

TEST(Itinerary, a_dropped_tail_belongs_to_the_epoch_that_is_over) {
  const IndexedItinerary plan = itinerary(10, 4, std::nullopt, LastPolicy::kDrop);
  EXPECT_EQ(plan.normalized({3, 8, 2}), (Cursor{4, 0, 0}));
  EXPECT_EQ(plan.normalized({3, 6, 2}), (Cursor{3, 6, 2}));
  EXPECT_EQ(plan.planned({3, 9, 2})->at, (Cursor{4, 0, 0}));
}

TEST(Itinerary, replacements_are_other_samples_each_once) {
  const IndexedItinerary plan = itinerary(20, 4);
  for (int64_t position = 0; position < 20; ++position) {
    std::vector<bool> seen(20);
    std::vector<forebay::Row> rows(1, forebay::Row{.position = position});
    plan.locate(2, rows);
    seen[static_cast<size_t>(rows[0].id)] = true;
    for (int64_t attempt = 1; attempt < 20; ++attempt) {
      const auto index = static_cast<size_t>(plan.replacement(rows[0], attempt));
      EXPECT_FALSE(seen[index]);
      seen[index] = true;
    }
  }
}

}  // namespace
}  // namespace forebay
