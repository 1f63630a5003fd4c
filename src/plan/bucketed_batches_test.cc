#include "plan/bucketed_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "plan/divided_batches.h"
#include "plan/test_lengths.h"
#include "plan/test_nodes.h"

namespace forebay {
namespace {

struct BucketRig {
  std::vector<float> lengths;
  BucketingOptions options = {.rules = {.budget = 3000}, .window = 200, .group = 4, .seed = 9};

  BucketedBatches batches(int64_t world) const {
    return {shuffled_leaf(std::ssize(lengths), 5), {shared_lengths(lengths)}, options, world};
  }
  float length_at(const BucketedBatches& steps, int64_t epoch, int64_t position) const {
    std::vector<int64_t> one = {position};
    steps.to_plan_positions(epoch, one);
    return lengths[static_cast<size_t>(shuffled_order(std::ssize(lengths), 5)->id_at(epoch, one.front()))];
  }
};

// The ends of all batches of an epoch from a position on, step by step and rank by rank. Checks
// that all ranks have rows, in order.
std::vector<int64_t> walk(const BucketedBatches& steps, int64_t world, Order::Use at, int64_t size) {
  std::vector<int64_t> ends;
  std::vector<Row> rows;
  int64_t left = steps.steps_left(at);
  for (; steps.has_step(at); at.position = steps.next_position(at), --left) {
    int64_t next = at.position;
    for (int64_t rank = 0; rank < world; ++rank) {
      steps.rows(at, rank, &rows);
      EXPECT_FALSE(rows.empty());
      EXPECT_LE(std::ssize(rows), steps.most_rows());
      if (rows.front().padding) continue;
      for (const Row& row : rows) EXPECT_EQ(row.position, next++);
      ends.push_back(next);
    }
    EXPECT_EQ(next, steps.next_position(at));
  }
  EXPECT_EQ(left, 0);
  EXPECT_EQ(at.position, size);
  return ends;
}

TEST(BucketedBatchesTest, each_sample_comes_once_an_epoch_in_equal_steps) {
  for (const int64_t size : {0, 1, 7, 199, 400, 1234}) {
    const BucketRig rig{long_tailed_lengths(size, 200)};
    for (const int64_t world : {1, 2, 3, 8, 50}) {
      const BucketedBatches steps = rig.batches(world);
      for (const int64_t epoch : {0, 1}) {
        walk(steps, world, {epoch, 0}, size);
        std::vector<int64_t> places(static_cast<size_t>(size)), all(static_cast<size_t>(size));
        std::iota(all.begin(), all.end(), 0);
        places = all;
        steps.to_plan_positions(epoch, places);
        std::ranges::sort(places);
        EXPECT_EQ(places, all);
      }
    }
  }
}

TEST(BucketedBatchesTest, any_number_of_ranks_takes_the_same_batches) {
  const BucketRig rig{long_tailed_lengths(1500, 200)};
  const std::vector<int64_t> ends = walk(rig.batches(1), 1, {2, 0}, 1500);
  for (const int64_t world : {2, 3, 8}) {
    std::vector<int64_t> same = walk(rig.batches(world), world, {2, 0}, 1500);
    // The last step may be divided.
    const auto whole = static_cast<ptrdiff_t>(ends.size() / static_cast<size_t>(world)) * world;
    EXPECT_TRUE(std::equal(ends.begin(), ends.begin() + whole, same.begin()));
    EXPECT_EQ(std::ssize(same), (std::ssize(ends) + world - 1) / world * world);
  }
}

TEST(BucketedBatchesTest, other_ranks_go_on_at_every_batch) {
  const BucketRig rig{long_tailed_lengths(700, 200)};
  const std::vector<int64_t> ends = walk(rig.batches(1), 1, {0, 0}, 700);
  for (size_t done = 1; done < ends.size(); ++done) {
    const std::vector<int64_t> rest(ends.begin() + static_cast<ptrdiff_t>(done), ends.end());
    EXPECT_EQ(walk(rig.batches(1), 1, {0, ends[done - 1]}, 700), rest);
    const std::vector<int64_t> other = walk(rig.batches(3), 3, {0, ends[done - 1]}, 700);
    EXPECT_TRUE(std::equal(rest.begin(), rest.begin() + std::ssize(rest) / 3 * 3, other.begin()));
  }
}

TEST(BucketedBatchesTest, a_position_within_a_batch_goes_on_with_its_rest) {
  const BucketRig rig{long_tailed_lengths(700, 200)};
  for (int64_t position = 1; position < 700; ++position) walk(rig.batches(2), 2, {0, position}, 700);
}

TEST(BucketedBatchesTest, a_batch_stays_within_the_budget) {
  const BucketRig rig{long_tailed_lengths(3000, 200)};
  const BucketedBatches steps = rig.batches(1);
  int64_t begin = 0;
  for (const int64_t end : walk(steps, 1, {0, 0}, 3000)) {
    float longest = 0;
    for (int64_t position = begin; position < end; ++position)
      longest = std::max(longest, rig.length_at(steps, 0, position));
    EXPECT_TRUE(end - begin == 1 || longest * static_cast<float>(end - begin) <= 3000);
    begin = end;
  }
}

TEST(BucketedBatchesTest, epochs_and_seeds_have_other_batches) {
  BucketRig rig{long_tailed_lengths(2000, 200)};
  const auto ends = walk(rig.batches(1), 1, {0, 0}, 2000);
  EXPECT_NE(ends, walk(rig.batches(1), 1, {1, 0}, 2000));
  rig.options.seed = 10;
  EXPECT_NE(ends, walk(rig.batches(1), 1, {0, 0}, 2000));
}

TEST(BucketedBatchesTest, rows_come_from_the_window_of_their_position) {
  const BucketRig rig{long_tailed_lengths(1000, 200)};
  const BucketedBatches steps = rig.batches(4);
  for (int64_t position = 0; position < 1000; ++position) {
    std::vector<int64_t> place = {position};
    steps.to_plan_positions(3, place);
    EXPECT_EQ(place.front() / 200, position / 200);
    EXPECT_EQ(steps.first_plan_position({3, position}), position / 200 * 200);
  }
}

TEST(BucketedBatchesTest, batches_have_samples_of_all_leaves_by_their_own_lengths) {
  const std::vector<SampleLengths> lengths = {shared_lengths(std::vector<float>(300, 10)),
                                              shared_lengths(std::vector<float>(100, 1000))};
  const std::shared_ptr<const PlanNode> plan = shuffled_union_node(shuffled_leaves({300, 100}), 4);
  const BucketedBatches steps(plan, lengths, {.rules = {.budget = 2000}, .window = 400, .group = 1}, 1);
  std::vector<Row> rows;
  std::vector<Draw> draws(400);
  plan->draws(0, 0, draws);
  for (Order::Use at; steps.has_step(at); at.position = steps.next_position(at)) {
    steps.rows(at, 0, &rows);
    std::vector<int64_t> places;
    for (const Row& row : rows) places.push_back(row.position);
    steps.to_plan_positions(0, places);
    for (const int64_t place : places)
      EXPECT_EQ(draws[static_cast<size_t>(place)].leaf, rows.size() > 2 ? 0 : 1) << rows.size();
  }
}

TEST(BucketedBatchesTest, with_fewer_samples_than_ranks_some_have_repeats) {
  const BucketRig rig{{5, 5, 5}};
  const BucketedBatches steps = rig.batches(5);
  EXPECT_EQ(steps.steps_left({0, 0}), 1);
  std::vector<Row> rows;
  for (int64_t rank = 0; rank < 5; ++rank) {
    steps.rows({0, 0}, rank, &rows);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows.front(), (rank < 3 ? Row{rank, 0, false} : Row{rank - 3, 1, true}));
  }
}

TEST(DividedBatches, batches_are_cut_evenly) {
  EXPECT_EQ(divide_batches(10, std::vector<int64_t>{16, 20}, 4), (std::vector<int64_t>{13, 16, 18, 20}));
  EXPECT_EQ(divide_batches(0, std::vector<int64_t>{1, 9}, 5), (std::vector<int64_t>{1, 3, 5, 7, 9}));
  EXPECT_EQ(divide_batches(0, std::vector<int64_t>{2}, 9), (std::vector<int64_t>{1, 2}));
}

}  // namespace
}  // namespace forebay
