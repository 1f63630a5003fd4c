#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "plan/equal_batches.h"
#include "plan/node.h"
#include "plan/shard_assignment.h"

namespace forebay {
namespace {

std::vector<std::unique_ptr<PlanNode>> leaves_of(const std::vector<int64_t>& sizes) {
  std::vector<std::unique_ptr<PlanNode>> leaves;
  for (const int64_t size : sizes) leaves.push_back(leaf_node(shuffled_order(size, 3)));
  return leaves;
}

std::shared_ptr<const PlanNode> union_of(const std::vector<int64_t>& sizes) {
  return shuffled_union_node(leaves_of(sizes), 7);
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

// The same by sorting all rows of the batch, leaf by leaf: by lane, then by slot, repeats last.
AssignedBatch sorted_batch(const PlanNode& plan, const std::vector<int64_t>& lanes, const GlobalBatch& batch) {
  std::vector<Draw> draws(static_cast<size_t>(batch.samples));
  plan.draws(batch.epoch, batch.position, draws);
  std::vector<std::vector<std::pair<int64_t, int64_t>>> leaves(lanes.size() + 1);
  for (int64_t slot = 0; slot < batch.slots; ++slot) {
    if (slot >= batch.samples) {
      leaves.back().emplace_back(0, slot);
      continue;
    }
    const Draw& draw = draws[static_cast<size_t>(slot)];
    const auto leaf = static_cast<size_t>(draw.leaf);
    leaves[leaf].emplace_back(draw.place % lanes[leaf], slot);
  }
  std::vector<std::set<int64_t>> of_rank(static_cast<size_t>(batch.world_size));
  int64_t next = 0;  // the rank that gets the next longer run
  for (auto& rows : leaves) {
    std::ranges::sort(rows);
    const int64_t count = std::ssize(rows), longer = count % batch.world_size;
    std::vector<int64_t> lengths(static_cast<size_t>(batch.world_size), count / batch.world_size);
    for (int64_t i = 0; i < longer; ++i) ++lengths[static_cast<size_t>((next + i) % batch.world_size)];
    next = (next + longer) % batch.world_size;
    auto row = rows.begin();
    for (size_t rank = 0; rank < lengths.size(); ++rank)
      for (int64_t i = 0; i < lengths[rank]; ++i) of_rank[rank].insert((row++)->second);
  }
  AssignedBatch assigned{.slots = {}, .begins = {0}};
  for (const std::set<int64_t>& slots : of_rank) {
    assigned.slots.insert(assigned.slots.end(), slots.begin(), slots.end());
    assigned.begins.push_back(std::ssize(assigned.slots));
  }
  return assigned;
}

TEST(AssignmentByLeaf, is_that_of_a_batch_whose_rows_are_sorted) {
  std::vector<std::unique_ptr<PlanNode>> parts;
  parts.push_back(shuffled_union_node(leaves_of({3, 1, 200}), 7));  // the first two pass many times in a batch
  parts.push_back(concat_node(leaves_of({50, 0, 9})));
  parts.push_back(repeat_node(std::move(leaves_of({33})[0]), 2.5));
  const MixOptions options{.seed = 5, .stages = {{0, {3, 2, 1}}, {700, {1, 0, 4}}}, .samples = 1500};
  const std::shared_ptr<const PlanNode> plan = mix_node(std::move(parts), options).value();
  const std::vector<int64_t> lanes{4, 2, 16, 1, 5, 3, 40};
  const auto assignment = assignment_by_leaf(plan, lanes);
  for (const int64_t epoch : {0, 1, 3}) {
    for (const int64_t position : {0, 1, 640, 1023, 1400}) {
      for (const int64_t samples : {0, 1, 17, 100}) {
        for (const int64_t world : {1, 2, 7, 64}) {
          for (const int64_t repeats : {0, 23}) {
            const GlobalBatch batch{position, samples, std::max(samples + repeats, world), world, epoch};
            AssignedBatch assigned;
            assignment->all(batch, &assigned);
            const AssignedBatch expected = sorted_batch(*plan, lanes, batch);
            ASSERT_EQ(assigned.slots, expected.slots) << epoch << ' ' << position << ' ' << samples << ' ' << world;
            ASSERT_EQ(assigned.begins, expected.begins);
            for (int64_t rank = 0; rank < world; ++rank) {
              std::vector<int64_t> alone;
              assignment->slots(batch, rank, &alone);
              ASSERT_TRUE(std::ranges::equal(alone, expected.of(rank))) << position << ' ' << samples << ' ' << rank;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace forebay
