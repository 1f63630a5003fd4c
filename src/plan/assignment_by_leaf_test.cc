#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "plan/equal_batches.h"
#include "plan/node.h"
#include "plan/shard_assignment.h"

namespace forebay {
namespace {

std::shared_ptr<const PlanNode> union_of(const std::vector<int64_t>& sizes) {
  std::vector<std::unique_ptr<PlanNode>> leaves;
  for (const int64_t size : sizes) leaves.push_back(leaf_node(shuffled_order(size, 3)));
  return shuffled_union_node(std::move(leaves), 7);
}

TEST(AssignmentByLeaf, each_rank_gets_as_many_rows_as_by_count_and_of_each_leaf_as_many_as_others) {
  const auto plan = union_of({500, 100, 41});
  const auto assignment = assignment_by_leaf(plan, {1, 4, 3});
  for (const int64_t world : {1, 2, 3, 7}) {
    for (const GlobalBatch& batch : {GlobalBatch{.position = 64, .samples = 56, .slots = 56, .world_size = world},
                                     GlobalBatch{.position = 620, .samples = 21, .slots = 29, .world_size = world}}) {
      AssignedBatch divided, counted;
      assignment->all(batch, &divided);
      assignment_by_count()->all(batch, &counted);
      EXPECT_EQ(divided.begins, counted.begins);
      EXPECT_EQ(std::set<int64_t>(divided.slots.begin(), divided.slots.end()).size(), divided.slots.size());
      std::vector<Draw> draws(static_cast<size_t>(batch.samples));
      plan->draws(0, batch.position, draws);
      std::vector<std::map<int32_t, int64_t>> of_rank(static_cast<size_t>(world));
      for (int64_t rank = 0; rank < world; ++rank) {
        std::vector<int64_t> alone;
        assignment->slots(batch, rank, &alone);
        EXPECT_TRUE(std::ranges::equal(alone, divided.of(rank)));
        EXPECT_TRUE(std::ranges::is_sorted(alone));
        for (const int64_t slot : alone)
          if (slot < batch.samples) ++of_rank[static_cast<size_t>(rank)][draws[static_cast<size_t>(slot)].leaf];
      }
      for (int32_t leaf = 0; leaf < 3; ++leaf) {
        int64_t least = INT64_MAX, most = 0;
        for (auto& counts : of_rank) {
          least = std::min(least, counts[leaf]);
          most = std::max(most, counts[leaf]);
        }
        EXPECT_LE(most - least, 1) << "leaf " << leaf << " of " << world << " ranks";
      }
    }
  }
}

TEST(AssignmentByLeaf, ranks_have_lanes_of_their_own_but_for_the_rows_at_a_cut) {
  const auto plan = union_of({4000, 4000});
  const auto assignment = assignment_by_leaf(plan, {1, 8});
  const EqualBatches schedule({.epoch_size = 8000, .batch_size = 256, .world_size = 4}, assignment);
  int64_t own = 0, all = 0;
  std::vector<Row> rows;
  for (int64_t position = 0; schedule.steps_left(position) > 0; position = schedule.next_position(position)) {
    for (int64_t rank = 0; rank < 4; ++rank) {
      schedule.rows({0, position}, rank, &rows);
      for (const Row& row : rows) {
        Draw draw;
        plan->draws(0, row.position, {&draw, 1});
        if (draw.leaf == 0) continue;
        ++all;
        own += draw.place % 8 / 2 == rank ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(all, 4000);
  EXPECT_GE(own, all * 9 / 10);
}

}  // namespace
}  // namespace forebay
