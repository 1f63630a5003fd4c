#include "loader/peers/entry_owner.h"

#include <gtest/gtest.h>

#include <random>

#include "pipeline/selection.h"
#include "plan/equal_batches.h"

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

OwnerOf owners(const std::shared_ptr<const Order>& order, std::shared_ptr<const Selection> selection,
               const ScheduleOptions& options) {
  const PlacementOptions placed{
      .hosts = {options.world_size, 1}, .batch_size = options.batch_size, .pads = options.last == LastPolicy::kPad};
  return owner_by_placement({std::make_shared<const Placement>(order, placed), std::move(selection)});
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

}  // namespace forebay
