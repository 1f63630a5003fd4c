#include "plan/shard_assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "plan/test_assignments.h"

namespace forebay {
namespace {

// Tests every promise of the interface with every shard assignment.
class AssignmentConformanceTest : public testing::TestWithParam<AssignmentCase> {};

TEST_P(AssignmentConformanceTest, each_slot_to_one_rank_and_none_without) {
  const auto assignment = GetParam().make();
  for (int64_t world : {1, 2, 3, 7, 16}) {
    for (int64_t slots : {world, world + 1, 2 * world - 1, 5 * world, 5 * world + 3}) {
      const GlobalBatch batch{100, slots, slots, world};
      std::vector<int64_t> assigned;
      for (int64_t rank = 0; rank < world; ++rank) {
        std::vector<int64_t> mine{-1};  // must be replaced
        assignment->slots(batch, rank, &mine);
        EXPECT_FALSE(mine.empty());
        EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
        assigned.insert(assigned.end(), mine.begin(), mine.end());
      }
      std::sort(assigned.begin(), assigned.end());
      ASSERT_EQ(static_cast<int64_t>(assigned.size()), slots);
      for (int64_t slot = 0; slot < slots; ++slot) EXPECT_EQ(assigned[static_cast<size_t>(slot)], slot);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Assignments, AssignmentConformanceTest, testing::ValuesIn(assignment_cases()),
                         assignment_case_name);

TEST(AssignmentByCountTest, contiguous_runs_with_the_longer_first) {
  const GlobalBatch batch{0, 11, 11, 4};
  std::vector<int64_t> mine;
  assignment_by_count()->slots(batch, 0, &mine);
  EXPECT_EQ(mine, (std::vector<int64_t>{0, 1, 2}));
  assignment_by_count()->slots(batch, 2, &mine);
  EXPECT_EQ(mine, (std::vector<int64_t>{6, 7, 8}));
  assignment_by_count()->slots(batch, 3, &mine);
  EXPECT_EQ(mine, (std::vector<int64_t>{9, 10}));
}

TEST(AssignmentByLaneTest, ranks_take_rows_of_their_own_lanes_where_the_numbers_divide) {
  const auto assignment = assignment_by_lane(6);
  for (int64_t world : {1, 2, 3, 6}) {
    const GlobalBatch batch{.position = 48, .samples = 24, .slots = 24, .world_size = world};
    for (int64_t rank = 0; rank < world; ++rank) {
      std::vector<int64_t> slots;
      assignment->slots(batch, rank, &slots);
      for (int64_t slot : slots) EXPECT_EQ(owner_of_lane((batch.position + slot) % 6, 6, world), rank);
    }
    EXPECT_TRUE(rows_that_move(batch, 6).empty());
  }
}

TEST(AssignmentByLaneTest, rows_that_move_are_named_where_they_do_not) {
  const GlobalBatch batch{.position = 5, .samples = 10, .slots = 10, .world_size = 2};
  const auto assignment = assignment_by_lane(3);
  std::vector<int64_t> moving;
  for (int64_t rank = 0; rank < 2; ++rank) {
    std::vector<int64_t> slots;
    assignment->slots(batch, rank, &slots);
    EXPECT_EQ(slots.size(), 5u);
    for (int64_t slot : slots) {
      if (owner_of_lane((5 + slot) % 3, 3, 2) != rank) moving.push_back(5 + slot);
    }
  }
  std::sort(moving.begin(), moving.end());
  EXPECT_FALSE(moving.empty());
  EXPECT_EQ(rows_that_move(batch, 3), moving);
}

}  // namespace
}  // namespace forebay
