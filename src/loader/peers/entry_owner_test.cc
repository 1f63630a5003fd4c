#include "loader/peers/entry_owner.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "pipeline/selection.h"
#include "plan/bucketed_batches.h"
#include "plan/equal_batches.h"
#include "plan/sample_home.h"

namespace forebay {

namespace {

// Returns the rank that the schedule gives each position to.
std::vector<int64_t> assigned(const ScheduleOptions& options) {
  std::vector<int64_t> ranks(static_cast<size_t>(options.epoch_size), -1);
  const EqualBatches schedule(options);
  std::vector<Row> rows;
  for (int64_t position = 0; schedule.steps_left(position) > 0; position = schedule.next_position(position)) {
    for (int64_t rank = 0; rank < options.world_size; ++rank) {
      schedule.rows({0, position}, rank, &rows);
      for (const Row& row : rows) {
        if (!row.padding) ranks[static_cast<size_t>(row.position)] = rank;
      }
    }
  }
  return ranks;
}

ScheduleOptions options_of(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto up_to = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)) + 1; };
  return {up_to(300), up_to(9), up_to(12), static_cast<LastPolicy>(random() % 3)};
}

OwnerOf owners_of(std::shared_ptr<const PlanNode> plan, std::shared_ptr<const FirstRanks> ranks,
                  const std::vector<std::shared_ptr<const Selection>>& selections) {
  std::vector<int64_t> sizes;
  std::vector<OwnedElements> branches;
  for (const auto& selection : selections) {
    sizes.push_back(selection->size() == 0 ? 0 : selection->id_at(selection->size() - 1) + 1);
    branches.push_back({selection});
  }
  return owner_in_plan({.plan = std::move(plan),
                        .ranks = std::move(ranks),
                        .numbers = std::make_shared<const ElementNumbers>(sizes),
                        .branches = std::move(branches)});
}

OwnerOf owners(const std::shared_ptr<const Order>& order, std::shared_ptr<const Selection> selection,
               const ScheduleOptions& options) {
  return owners_of(leaf_node(order), first_ranks_by_position(options), {std::move(selection)});
}

// The rank that gets each sample of each leaf first, and the position at which it gets it.
using FirstGets = std::map<std::pair<int32_t, int64_t>, std::pair<int64_t, int64_t>>;

FirstGets first_gets(const PlanNode& plan, const Schedule& schedule, int64_t ranks, int64_t epochs) {
  FirstGets first;
  std::vector<Row> rows;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    for (int64_t position = 0; schedule.has_step({epoch, position});
         position = schedule.next_position({epoch, position})) {
      for (int64_t rank = 0; rank < ranks; ++rank) {
        schedule.rows({epoch, position}, rank, &rows);
        for (const Row& row : rows) {
          if (row.padding) continue;
          std::vector<int64_t> at(1, row.position);
          schedule.to_plan_positions(epoch, at);
          Draw draw;
          plan.draws(epoch, at.front(), std::span(&draw, 1));
          first.emplace(std::pair(draw.leaf, draw.index), std::pair(rank, epoch * plan.size() + row.position));
        }
      }
    }
  }
  return first;
}

// Two shuffled data sets with shares, of which an epoch does not have all samples.
std::shared_ptr<const PlanNode> mixed(uint64_t seed) {
  std::vector<std::unique_ptr<PlanNode>> parts;
  parts.push_back(leaf_node(shuffled_order(300, seed)));
  parts.push_back(leaf_node(shuffled_order(90, seed + 1)));
  return std::move(*mix_node(std::move(parts), {.seed = seed, .stages = {{0, {3, 1}}}, .samples = 200}));
}

}  // namespace

TEST(OwnerOf, IsTheRankThatGetsThePosition) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const ScheduleOptions options = options_of(seed);
    const std::vector<int64_t> ranks = assigned(options);
    const OwnerOf owner_of = owners(sequential_order(options.epoch_size), first_samples(options.epoch_size), options);
    for (int64_t position = 0; position < options.epoch_size; ++position) {
      const int64_t is = ranks[static_cast<size_t>(position)], owner = owner_of(position).host;
      EXPECT_EQ(owner_of(position).position, position);
      EXPECT_TRUE(is < 0 || owner == is) << "seed " << seed << ", position " << position;
      EXPECT_GE(owner, 0);
      EXPECT_LT(owner, options.world_size) << "what is dropped has an owner, too";
    }
  }
}

TEST(OwnerOf, OfASampleFollowsItsPositionInTheFirstEpoch) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const ScheduleOptions options = options_of(seed);
    const std::shared_ptr<const Order> order = shuffled_order(options.epoch_size, seed);
    std::vector<uint64_t> bits(static_cast<size_t>(options.epoch_size * 2 / 64 + 1), 0xAAAA'AAAA'AAAA'AAAA);
    const auto every_other = std::make_shared<MarkedSamples>(first_samples(options.epoch_size * 2), bits);
    const OwnerOf owner = owners(order, every_other, options);
    const OwnerOf by_position =
        owners(sequential_order(options.epoch_size), first_samples(options.epoch_size), options);
    for (int64_t position = 0; position < options.epoch_size; ++position) {
      const int64_t id = every_other->id_at(order->id_at(0, position));
      EXPECT_EQ(owner(id).host, by_position(position).host);
      EXPECT_EQ(owner(id).position, position);
    }
  }
}

TEST(OwnerOf, OfAnUnknownElementIsUnknown) {
  const std::shared_ptr<const Order> order = sequential_order(10);
  const OwnerOf owner = owners(order, first_samples(10), {.epoch_size = 10, .batch_size = 2, .world_size = 2});
  for (const int64_t element : {int64_t{-1}, int64_t{10}, INT64_MAX, INT64_MIN}) EXPECT_EQ(owner(element).host, -1);
}

// By position in the plan, and rows of a batch by any rule.
TEST(OwnerOf, InAMixIsTheRankThatGetsTheSampleFirst) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto plan = mixed(seed);
    const ScheduleOptions options{.epoch_size = 200, .batch_size = 7, .world_size = 3};
    const auto by_leaf = assignment_by_leaf(plan, {4, 1});
    for (const auto& [assignment, ranks] : {std::pair(assignment_by_count(), first_ranks_by_position(options)),
                                            std::pair(by_leaf, first_ranks_by_batch(options, by_leaf))}) {
      const OwnerOf owner = owners_of(plan, ranks, {first_samples(300), first_samples(90)});
      const FirstGets gets = first_gets(*plan, EqualBatches(options, assignment), 3, 4);
      EXPECT_EQ(gets.size(), 390U) << "the last samples come in a later epoch";
      for (const auto& [sample, got] : gets) {
        const Owner is = owner(sample.first == 0 ? sample.second : 300 + sample.second);
        EXPECT_EQ(is.host, got.first);
        EXPECT_EQ(is.position, got.second);
      }
    }
  }
}

TEST(OwnerOf, InBatchesOfLikeLengthsIsTheRankThatGetsTheBatch) {
  const std::shared_ptr<const PlanNode> plan = leaf_node(shuffled_order(500, 3));
  const auto lengths = std::make_shared<std::vector<float>>();
  for (int i = 0; i < 500; ++i) lengths->push_back(static_cast<float>(1 + i * 37 % 50));
  const BucketingOptions options{.rules = {.budget = 200}, .window = 100, .group = 4, .seed = 5};
  const BucketedBatches schedule(plan, {lengths}, options, 3);
  const OwnerOf owner = owners_of(plan, first_ranks_by_lengths(plan, {lengths}, options, 3), {first_samples(500)});
  int64_t wrong = 0;
  for (const auto& [sample, got] : first_gets(*plan, schedule, 3, 1)) {
    const Owner is = owner(sample.second);
    wrong += is.host != got.first ? 1 : 0;
    EXPECT_LE(is.position, got.second);
    EXPECT_GT(is.position + schedule.most_rows(), got.second);
  }
  EXPECT_LE(wrong, schedule.most_rows() * 2) << "only the last step may divide batches";
}

TEST(OwnerOf, OfASampleWithAHomeIsItsHomeWheneverItComes) {
  const auto plan = mixed(1);
  const OwnerOf owner = owners_of(plan, first_ranks_by_home(5), {first_samples(300), first_samples(90)});
  for (int64_t index = 0; index < 90; ++index) {
    EXPECT_EQ(owner(index).host, home_of(index, 5));
    EXPECT_EQ(owner(300 + index).host, home_of(index, 5));
    EXPECT_EQ(owner(300 + index).position,
              plan->next_use(1, index, {0, 0}).epoch * 200 + plan->next_use(1, index, {0, 0}).position);
  }
}

TEST(OwnerOf, OfASampleThatNeverComesIsUnknown) {
  std::vector<std::unique_ptr<PlanNode>> parts;
  parts.push_back(leaf_node(shuffled_order(10, 1)));
  parts.push_back(leaf_node(shuffled_order(10, 2)));
  const std::shared_ptr<const PlanNode> plan =
      std::move(*mix_node(std::move(parts), {.seed = 1, .stages = {{0, {1, 0}}}, .samples = 10}));
  const OwnerOf both = owners_of(plan, first_ranks_by_home(2), {first_samples(10), first_samples(10)});
  EXPECT_GE(both(9).host, 0);
  EXPECT_EQ(both(10).host, -1);
}

TEST(ElementNumbers, FollowEachOtherAndSkipEmptyBranches) {
  const ElementNumbers numbers({3, 0, 2});
  EXPECT_EQ(numbers.size(), 5);
  EXPECT_EQ(numbers.first(2), 3);
  EXPECT_EQ(numbers.place_of(2).branch, 0U);
  EXPECT_EQ(numbers.place_of(3).branch, 2U);
  EXPECT_EQ(numbers.place_of(4).element, 1);
}

}  // namespace forebay
