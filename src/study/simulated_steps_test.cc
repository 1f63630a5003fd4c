#include "study/simulated_steps.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "study/planned_epochs.h"

namespace forebay {
namespace {

PlannedStep step(int64_t position, std::vector<int64_t> ids, std::vector<int32_t> parts, int64_t padding = 0) {
  PlannedStep step{
      .position = position, .ids = std::move(ids), .positions = {}, .parts = std::move(parts), .moved = {}};
  for (int64_t i = 0; i < std::ssize(step.ids) - padding; ++i) step.positions.push_back(position + i);
  for (int64_t i = 0; i < padding; ++i) step.positions.push_back(i);
  step.padding = padding;
  return step;
}

// Two epochs of 7 rows of two parts: batches of 3, 2, 1 and 1 rows, then of 2, 2, 2 and 1.
std::shared_ptr<const PlannedEpochs> two_epochs() {
  const EpochPlan plans[] = {
      {.size = 7,
       .steps = 4,
       .first = {step(0, {5, 0, 5}, {0, 1, 0}), step(3, {9, 2}, {1, 0}), step(5, {7}, {1}),
                 step(6, {3, 5}, {0, 0}, 1)}},
      {.size = 7,
       .steps = 4,
       .first = {step(0, {9, 4}, {1, 1}), step(2, {5, 2}, {0, 0}), step(4, {0, 8}, {1, 0}), step(6, {7}, {1})}}};
  return std::make_shared<const PlannedEpochs>(plans, 2);
}

TEST(PlannedEpochs, IdsNumberTheSamplesThatComeByPart) {
  const auto order = two_epochs();
  EXPECT_EQ(order->size(), 7);
  EXPECT_EQ(order->begins(), (std::vector<int64_t>{0, 4, 8}));  // 2, 3, 5, 8 of the first; 0, 4, 7, 9
  std::vector<int64_t> ids(7), samples;
  order->ids_at(0, 0, ids);
  for (const int64_t id : ids) samples.push_back(order->id_in_part(id));
  EXPECT_EQ(ids, (std::vector<int64_t>{2, 4, 2, 7, 0, 6, 1}));
  EXPECT_EQ(samples, (std::vector<int64_t>{5, 0, 5, 9, 2, 7, 3}));
  EXPECT_EQ(order->batch_ends()[0], (std::vector<int64_t>{3, 5, 6, 7}));
  EXPECT_EQ(order->batch_ends()[1], (std::vector<int64_t>{2, 4, 6, 7}));
}

TEST(PlannedEpochs, ThePositionOfAnIdIsItsFirst) {
  const auto order = two_epochs();
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    for (int64_t id = 0; id < order->ids(); ++id) {
      int64_t first = 0;
      while (first < 7 && order->id_at(epoch, first) != id) ++first;
      EXPECT_EQ(order->position_of(epoch, id), first) << epoch << " " << id;
    }
  }
}

TEST(SimulatedSteps, BatchesOfLikeLengthsStayWholeAndHostsCacheWhatTheyReadFirst) {
  const auto order = two_epochs();
  SimulationOptions options{.hosts = 2, .ranks_per_host = 1};
  options.batch_size = 2;
  const auto steps = like_length_steps(options, order, /*rows_cached=*/3,
                                       std::shared_ptr<const BatchEnds>(order, &order->batch_ends()));
  AssignedBatch assigned;
  steps->divide({0, 0}, &assigned);
  EXPECT_EQ(assigned.begins, (std::vector<int64_t>{0, 3, 5}));
  EXPECT_EQ(steps->next_position({0, 0}), 5);
  steps->divide({1, 4}, &assigned);
  EXPECT_EQ(assigned.begins, (std::vector<int64_t>{0, 2, 3}));
  EXPECT_EQ(steps->rows_of_host(0), 4);
  EXPECT_EQ(steps->rows_of_host(1), 3);
  // By id: position 4 on host 1; 6 on host 1; 0 on host 0; never in the first epoch; 1 on host 0;
  // never; 5 is the fourth row of host 0, which caches three; 3 on host 1.
  const std::vector<int32_t> hosts = {1, 1, 0, -1, 0, -1, -1, 1};
  for (int64_t id = 0; id < order->ids(); ++id) EXPECT_EQ(steps->owner(id).host, hosts[static_cast<size_t>(id)]) << id;
  EXPECT_EQ(steps->owner(1).index, 2);
}

TEST(SimulatedSteps, TheLastBatchesAreDividedAmongTheRanks) {
  const EpochPlan plans[] = {{.size = 6, .steps = 2, .first = {step(0, {0, 1}, {}), step(2, {2, 3, 4, 5}, {})}}};
  const auto order = std::make_shared<const PlannedEpochs>(plans, 1);
  SimulationOptions options{.hosts = 3, .ranks_per_host = 1};
  const auto steps = like_length_steps(options, order, /*rows_cached=*/6,
                                       std::shared_ptr<const BatchEnds>(order, &order->batch_ends()));
  AssignedBatch assigned;
  steps->divide({0, 0}, &assigned);
  ASSERT_EQ(assigned.begins.size(), 4u);
  EXPECT_EQ(assigned.begins.back(), 6);
  for (int64_t rank = 0; rank < 3; ++rank) EXPECT_GE(std::ssize(assigned.of(rank)), 1);
  EXPECT_EQ(steps->next_position({0, 0}), 6);
}

}  // namespace
}  // namespace forebay
