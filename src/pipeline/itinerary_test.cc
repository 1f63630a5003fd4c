#include "pipeline/itinerary.h"

#include <gtest/gtest.h>

#include "plan/packed_batches.h"

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

// Two branches of 30 samples each, of which the second leaves out every other one of its source.
struct SharedBlocks {
  std::shared_ptr<const PlanNode> plan = [] {
    std::vector<std::unique_ptr<PlanNode>> leaves;
    for (const uint64_t seed : {1, 2}) leaves.push_back(leaf_node(shuffled_order(30, seed)));
    return shuffled_union_node(std::move(leaves), 3);
  }();
  std::vector<BranchSamples> branches{{first_samples(30), 7}, {spread_over(first_samples(60), 30), 8}};
  std::shared_ptr<const PackedWindows> windows;

  explicit SharedBlocks(const PackingOptions& packing) {
    SequenceSizes sizes;
    for (uint32_t i = 0; i < 30; ++i) sizes.lengths.push_back(i % 11);
    const auto shared = std::make_shared<const SequenceSizes>(sizes);
    windows = *PackedWindows::make(plan, {shared, shared}, {.packing = packing});
  }
  IndexedItinerary itinerary(int64_t batch, LastPolicy last = LastPolicy::kPartial) const {
    const ScheduleOptions options{.batch_size = batch, .last = last};
    return {plan, branches, std::make_shared<PackedBatches>(windows, options), 0, 6};
  }
};

TEST(Itinerary, rows_of_shared_blocks_have_the_places_of_their_draws) {
  const SharedBlocks shared({.length = 16, .window = 20});
  const IndexedItinerary plan = shared.itinerary(3);
  int64_t elements = 0;
  for (Cursor at; !plan.finished(at);) {
    const std::optional<StepPlan> step = plan.planned(at);
    ASSERT_TRUE(step);
    ASSERT_EQ(step->rows.size(), step->pieces.size());
    for (size_t block = 0; block < step->blocks.size(); ++block) {
      const PlannedBlock& of = step->blocks[block];
      EXPECT_EQ(of.number, step->at.position + static_cast<int64_t>(block));
      EXPECT_EQ(of.row.pass, step->at.epoch);
      const size_t end = block + 1 < step->blocks.size() ? step->blocks[block + 1].first : step->rows.size();
      for (size_t i = of.first; i < end; ++i) {
        const Row& row = step->rows[i];
        const PackedPiece& piece = step->pieces[i];
        EXPECT_EQ(row.position, of.number);
        EXPECT_EQ(row.pass, step->at.epoch) << "each sample comes once an epoch";
        EXPECT_EQ(piece.sequence, shared.plan->order(row.branch).id_at(row.pass, row.place));
        EXPECT_EQ(row.id, shared.branches[row.branch].selection->id_at(piece.sequence));
        elements += piece.count;
      }
    }
    at = step->after;
  }
  int64_t all = 0;
  for (int64_t i = 0; i < 30; ++i) all += i % 11;
  EXPECT_EQ(elements, 6 * 2 * all);
}

TEST(Itinerary, epochs_with_too_few_blocks_for_a_batch_are_passed_over) {
  const SharedBlocks shared({.length = 16, .open_blocks = 1, .window = 8});
  const int64_t first = shared.windows->size(0);
  std::vector<int64_t> epochs, expected;
  for (int64_t epoch = 0; epoch < 6; ++epoch)
    if (shared.windows->size(epoch) >= first) expected.push_back(epoch);
  ASSERT_LT(expected.size(), 6u) << "some epochs have fewer blocks";
  const IndexedItinerary plan = shared.itinerary(first, LastPolicy::kDrop);
  for (Cursor at; !plan.finished(at);) {
    const std::optional<StepPlan> step = plan.planned(at);
    ASSERT_TRUE(step);
    EXPECT_EQ(std::ssize(step->blocks), first);
    epochs.push_back(step->at.epoch);
    at = step->after;
  }
  EXPECT_EQ(epochs, expected);
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
