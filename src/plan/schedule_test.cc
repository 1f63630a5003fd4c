#include "plan/equal_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plan/test_assignments.h"

namespace forebay {
namespace {

constexpr LastPolicy kPolicies[] = {LastPolicy::kPartial, LastPolicy::kDrop, LastPolicy::kPad};

EqualBatches schedule(int64_t epoch_size, int64_t batch_size, int64_t world_size, LastPolicy last) {
  return EqualBatches({epoch_size, batch_size, world_size, last});
}

std::vector<Row> rows_of(const EqualBatches& s, int64_t position, int64_t rank) {
  std::vector<Row> rows{{-1, -1, true}};  // must be replaced
  s.rows({0, position}, rank, &rows);
  return rows;
}

// The rows of one step over all ranks. step_of() checks that padding is where it should be.
struct Step {
  std::vector<int64_t> positions;             // without padding, joined over the ranks
  std::vector<Row> repeats;                   // joined over the ranks
  int64_t shortest = INT64_MAX, longest = 0;  // rows of a rank
};

Step step_of(const EqualBatches& s, int64_t position) {
  Step step;
  for (int64_t rank = 0; rank < s.options().world_size; ++rank) {
    const std::vector<Row> rows = rows_of(s, position, rank);
    const auto count = static_cast<int64_t>(rows.size());
    step.shortest = std::min(step.shortest, count);
    step.longest = std::max(step.longest, count);
    bool padding = false;
    for (const Row& row : rows) {
      if (padding && !row.padding) ADD_FAILURE() << "a sample after padding";
      if (padding = row.padding; padding != (row.occurrence > 0)) ADD_FAILURE() << "occurrence " << row.occurrence;
      if (padding) step.repeats.push_back(row);
      if (!padding) step.positions.push_back(row.position);
    }
  }
  return step;
}

// Checks the last step, of `left` samples.
void expect_last_step(const EqualBatches& s, const Step& step, int64_t left) {
  const auto& [epoch_size, batch_size, world_size, last] = s.options();
  const auto repeats = static_cast<int64_t>(step.repeats.size());
  if (last == LastPolicy::kPad) {
    ASSERT_EQ(repeats, batch_size * world_size - left);
    ASSERT_TRUE(step.shortest == batch_size && step.longest == batch_size);
  } else {
    ASSERT_EQ(repeats, std::max<int64_t>(world_size - left, 0));
    ASSERT_LE(step.longest - step.shortest, 1);
    ASSERT_GE(step.shortest, 1);
  }
  // Repeats take positions from the beginning in turn, and count earlier uses.
  for (int64_t i = 0; i < repeats; ++i) {
    const Row want{i % epoch_size, static_cast<int32_t>(1 + i / epoch_size), true};
    if (step.repeats[static_cast<size_t>(i)] != want) FAIL() << "repeat " << i;
  }
}

// Walks an epoch from `position` to its end and checks every promise of the schedule.
void expect_exactly_once(const EqualBatches& s, int64_t position = 0) {
  const auto& [epoch_size, batch_size, world_size, last] = s.options();
  const int64_t global_batch = batch_size * world_size;
  for (int64_t steps_left = s.steps_left(position); steps_left > 0; --steps_left) {
    ASSERT_EQ(s.steps_left(position), steps_left);
    const int64_t left = epoch_size - position;
    Step step = step_of(s, position);
    ASSERT_EQ(static_cast<int64_t>(step.positions.size()), std::min(left, global_batch));
    // The rows of all ranks in order give the global order.
    for (int64_t i = 0; i < static_cast<int64_t>(step.positions.size()); ++i) {
      if (step.positions[static_cast<size_t>(i)] != position + i) FAIL() << "position " << position << " + " << i;
    }
    if (left < global_batch) {
      expect_last_step(s, step, left);
    } else {
      ASSERT_TRUE(step.repeats.empty() && step.shortest == batch_size && step.longest == batch_size);
    }
    position = s.next_position(position);
  }
  ASSERT_EQ(s.steps_left(position), 0);
  if (last == LastPolicy::kDrop) {
    ASSERT_LT(epoch_size - position, global_batch);
  } else {
    ASSERT_EQ(position, epoch_size);
  }
}

void expect_for_all_worlds(int64_t epoch_size, const std::vector<int64_t>& batch_sizes) {
  for (int64_t world = 1; world <= 16; ++world) {
    for (int64_t batch : batch_sizes) {
      for (LastPolicy last : kPolicies) {
        SCOPED_TRACE(testing::Message() << epoch_size << " samples, batch " << batch << ", world " << world
                                        << ", policy " << static_cast<int>(last));
        expect_exactly_once(schedule(epoch_size, batch, world, last));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(ScheduleTest, exactly_once_equal_steps_for_every_small_epoch) {
  for (int64_t size = 0; size <= 300 && !HasFatalFailure(); ++size) expect_for_all_worlds(size, {1, 2, 3, 8, 64});
}

TEST(ScheduleTest, exactly_once_equal_steps_for_epochs_to_2000) {
  for (int64_t size = 301; size <= 2000 && !HasFatalFailure(); size += 1 + size % 47) {
    expect_for_all_worlds(size, {5, 32, 129, 400});
  }
}

TEST(ScheduleTest, steps_are_known_before_the_epoch) {
  EXPECT_EQ(schedule(1000, 10, 3, LastPolicy::kPartial).steps(), 34);
  EXPECT_EQ(schedule(1000, 10, 3, LastPolicy::kDrop).steps(), 33);
  EXPECT_EQ(schedule(1000, 10, 3, LastPolicy::kPad).steps(), 34);
  EXPECT_EQ(schedule(0, 10, 3, LastPolicy::kPad).steps(), 0);
  EXPECT_EQ(schedule(5, 10, 3, LastPolicy::kDrop).steps(), 0);
}

TEST(ScheduleTest, a_full_batch_is_dealt_in_contiguous_runs) {
  const EqualBatches s = schedule(1000, 4, 3, LastPolicy::kPartial);
  EXPECT_EQ(rows_of(s, 100, 1), (std::vector<Row>{{104, 0, false}, {105, 0, false}, {106, 0, false}, {107, 0, false}}));
}

TEST(ScheduleTest, partial_tail_in_sizes_that_differ_by_one) {
  const EqualBatches s = schedule(10, 4, 4, LastPolicy::kPartial);
  EXPECT_EQ(rows_of(s, 0, 0), (std::vector<Row>{{0, 0, false}, {1, 0, false}, {2, 0, false}}));
  EXPECT_EQ(rows_of(s, 0, 3), (std::vector<Row>{{8, 0, false}, {9, 0, false}}));
}

TEST(ScheduleTest, partial_gives_one_repeat_to_a_rank_without_rows) {
  const EqualBatches s = schedule(10, 2, 4, LastPolicy::kPartial);
  EXPECT_EQ(rows_of(s, 8, 1), (std::vector<Row>{{9, 0, false}}));
  EXPECT_EQ(rows_of(s, 8, 2), (std::vector<Row>{{0, 1, true}}));
  EXPECT_EQ(rows_of(s, 8, 3), (std::vector<Row>{{1, 1, true}}));
}

TEST(ScheduleTest, pad_fills_the_end_of_the_last_ranks) {
  const EqualBatches s = schedule(3, 2, 4, LastPolicy::kPad);
  EXPECT_EQ(rows_of(s, 0, 0), (std::vector<Row>{{0, 0, false}, {1, 0, false}}));
  EXPECT_EQ(rows_of(s, 0, 1), (std::vector<Row>{{2, 0, false}, {0, 1, true}}));
  EXPECT_EQ(rows_of(s, 0, 2), (std::vector<Row>{{1, 1, true}, {2, 1, true}}));
  EXPECT_EQ(rows_of(s, 0, 3), (std::vector<Row>{{0, 2, true}, {1, 2, true}}));
}

TEST(ScheduleTest, nothing_is_left_past_the_end) {
  for (LastPolicy last : kPolicies) {
    const EqualBatches s = schedule(10, 4, 2, last);
    for (int64_t position : {10, 11, 1000}) {
      EXPECT_EQ(s.steps_left(position), 0);
      EXPECT_TRUE(rows_of(s, position, 0).empty());
    }
  }
}

// A job that changes its ranks and batch size after each step delivers what one rank would.
TEST(ScheduleTest, resume_with_other_ranks_and_batches_goes_on_exactly) {
  // Batch size and world size.
  const std::vector<std::pair<int64_t, int64_t>> jobs{{7, 3}, {5, 2}, {3, 5}, {16, 1}, {1, 8}};
  for (int64_t size : {1, 2, 50, 333, 1999}) {
    for (LastPolicy last : kPolicies) {
      std::vector<int64_t> delivered;
      int64_t position = 0;
      for (size_t turn = 0;; ++turn) {
        const auto [batch, world] = jobs[turn % jobs.size()];
        const EqualBatches s = schedule(size, batch, world, last);
        if (s.steps_left(position) == 0) break;
        const Step step = step_of(s, position);
        delivered.insert(delivered.end(), step.positions.begin(), step.positions.end());
        position = s.next_position(position);
      }
      for (size_t i = 0; i < delivered.size(); ++i) ASSERT_EQ(delivered[i], static_cast<int64_t>(i));
      if (last == LastPolicy::kDrop) continue;
      ASSERT_EQ(static_cast<int64_t>(delivered.size()), size);
    }
  }
}

TEST(ScheduleTest, resume_is_exact_at_every_position) {
  for (int64_t position = 0; position <= 100; ++position) {
    for (LastPolicy last : kPolicies) expect_exactly_once(schedule(100, 4, 3, last), position);
  }
}

TEST(ScheduleTest, nonsense_is_refused_by_name) {
  const auto refused = [](const ScheduleOptions& options, const char* name) {
    const Status status = options.check();
    return status.code() == Code::kInvalidArgument && status.message().find(name) != std::string::npos;
  };
  EXPECT_TRUE(refused({-1, 1, 1, LastPolicy::kPad}, "epoch_size"));
  EXPECT_TRUE(refused({10, 0, 1, LastPolicy::kPad}, "batch size"));
  EXPECT_TRUE(refused({10, 1, 0, LastPolicy::kPad}, "world_size"));
  EXPECT_TRUE(refused({10, INT64_MAX, INT64_MAX, LastPolicy::kPad}, "2^31"));
  EXPECT_TRUE((ScheduleOptions{0, 1, 1, LastPolicy::kPad}.check().ok()));
}

// Promises of the schedule that hold for every shard assignment.
class ScheduleAssignmentTest : public testing::TestWithParam<AssignmentCase> {};

TEST_P(ScheduleAssignmentTest, exactly_once_equal_steps) {
  for (int64_t size : {1, 10, 97, 500}) {
    for (int64_t world : {1, 2, 5, 16}) {
      for (LastPolicy last : kPolicies) {
        const EqualBatches s({size, 4, world, last}, GetParam().make());
        int64_t position = 0, padding = 0;
        std::vector<int64_t> seen;
        for (int64_t steps = s.steps(); steps > 0; --steps, position = s.next_position(position)) {
          const Step step = step_of(s, position);
          EXPECT_GE(step.shortest, 1);
          padding += static_cast<int64_t>(step.repeats.size());
          seen.insert(seen.end(), step.positions.begin(), step.positions.end());
        }
        std::sort(seen.begin(), seen.end());
        const int64_t whole = last == LastPolicy::kDrop ? size / (4 * world) * (4 * world) : size;
        ASSERT_EQ(static_cast<int64_t>(seen.size()), whole);
        for (size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], static_cast<int64_t>(i));
        if (last != LastPolicy::kPad) continue;
        EXPECT_EQ(whole + padding, s.steps() * 4 * world);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Assignments, ScheduleAssignmentTest, testing::ValuesIn(assignment_cases()),
                         assignment_case_name);

TEST(ReplacementTest, is_another_position_of_the_epoch) {
  for (int64_t size : {2, 3, 65, 1000}) {
    for (int64_t position = 0; position < std::min<int64_t>(size, 70); ++position) {
      for (int64_t attempt = 0; attempt < 10; ++attempt) {
        const int64_t other = replacement_position(7, 2, position, attempt, size);
        ASSERT_NE(other, position);
        ASSERT_TRUE(other >= 0 && other < size);
        ASSERT_EQ(other, replacement_position(7, 2, position, attempt, size));
      }
    }
  }
  EXPECT_EQ(replacement_position(7, 2, 0, 3, 1), 0);
}

TEST(ReplacementTest, attempts_try_every_other_position_before_any_again) {
  for (int64_t size : {2, 10, 300}) {
    std::set<int64_t> tried;
    for (int64_t attempt = 0; attempt < size - 1; ++attempt) tried.insert(replacement_position(7, 2, 1, attempt, size));
    EXPECT_EQ(static_cast<int64_t>(tried.size()), size - 1);
    EXPECT_EQ(replacement_position(7, 2, 1, size - 1, size), replacement_position(7, 2, 1, 0, size));
  }
}

TEST(ReplacementTest, depends_on_seed_epoch_and_position) {
  std::set<int64_t> drawn;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    for (int64_t epoch = 0; epoch < 5; ++epoch) {
      for (int64_t position = 0; position < 5; ++position) {
        drawn.insert(replacement_position(seed, epoch, position, 0, int64_t{1} << 50));
      }
    }
  }
  EXPECT_EQ(drawn.size(), 125u);
}

TEST(ReplacementTest, golden_values_never_change) {
  EXPECT_EQ(replacement_position(7, 3, 100, 0, 2100), 1835);
  EXPECT_EQ(replacement_position(7, 3, 100, 1, 2100), 2087);
  EXPECT_EQ(replacement_position(7, 3, 5, 0, 20), 1);
}

TEST(ReplacementTest, of_chunked_data_comes_from_what_is_read_together) {
  const auto order = blockwise_order({std::vector<int64_t>(40, 25), 4, 3, 7}).value();
  for (int64_t position = 0; position < order->size(); position += 17) {
    const Order::Range range = order->read_together(1, position);
    for (int64_t attempt = 0; attempt < 5; ++attempt) {
      const int64_t other = replacement_position(7, 1, position, attempt, range);
      ASSERT_NE(other, position);
      ASSERT_EQ((other - range.first) % range.step, 0);
      ASSERT_EQ(order->read_together(1, other).first, range.first);
    }
  }
}

TEST(ReplacementTest, comes_from_elsewhere_where_nothing_that_is_read_together_will_do) {
  std::vector<std::unique_ptr<Order>> orders;
  orders.push_back(sequential_chunks_order({3, 0, 80, 1, 1, 20}));
  orders.push_back(blockwise_order({{3, 80, 1, 1, 20}, 1, 1, 7}).value());
  orders.push_back(blockwise_order({{3, 80, 1, 1, 20}, 2, 3, 7}).value());
  orders.push_back(blockwise_order({{1, 1}, 1, 5, 7}).value());
  for (const auto& order : orders) {
    for (int64_t position = 0; position < order->size(); ++position) {
      const Order::Range own = order->read_together(1, position);
      const int64_t near = std::min<int64_t>(own.count - 1, 50);
      std::set<int64_t> blocks, tried;
      for (int64_t attempt = 0; attempt < 100; ++attempt) {
        const int64_t other = replacement_position(7, 1, position, attempt, *order);
        ASSERT_TRUE(other >= 0 && other < order->size());
        ASSERT_NE(other, position);
        ASSERT_EQ(order->read_together(1, other).first == own.first, attempt < near) << position << " " << attempt;
        blocks.insert(order->read_together(1, other).first);
        if (attempt < near) {
          ASSERT_TRUE(tried.insert(other).second);
        }
      }
      std::set<int64_t> all;
      for (int64_t i = 0; i < order->size(); ++i) all.insert(order->read_together(1, i).first);
      if (near < 1) all.erase(own.first);
      EXPECT_EQ(blocks, all) << "all blocks have their turn";
    }
  }
}

TEST(ReplacementTest, of_one_chunk_alone_there_is_no_elsewhere) {
  const auto order = sequential_chunks_order({60});
  for (int64_t attempt = 0; attempt < 59; ++attempt)
    EXPECT_EQ(replacement_position(7, 1, 3, attempt, *order), replacement_position(7, 1, 3, attempt, 60));
}

}  // namespace
}  // namespace forebay
