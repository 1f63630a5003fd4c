// Tests plans of epochs: a plan equals the samples that a run delivers, on every rank and by every
// policy.
#include "loader/samples/epoch_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "loader/compile/ordering.h"
#include "loader/describe/step_arguments.h"
#include "loader/loader_test_support.h"
#include "pipeline/selection.h"

namespace forebay {
namespace {

using namespace loader_test;

Pipeline numbers(int64_t rows, int64_t batch, const std::string& last) {
  return arrays({{"x", counting(rows)}}).shuffle().batch(batch, {.last = last});
}

TEST(EpochPlan, IsWhatEachRankOfARunGets) {
  for (const std::string last : {"partial", "drop", "pad"}) {
    for (const int world : {1, 2, 3, 5}) {
      for (const int64_t epoch : {0, 4}) {
        for (int rank = 0; rank < world; ++rank) {
          const auto loader =
              opened(numbers(37, 4, last),
                     {.seed = 9, .job = {.rank = rank, .world_size = world}, .resources = {.threads = 1}});
          const auto plan = loader->plan(epoch, rank, world, INT64_MAX);
          ASSERT_TRUE(plan.ok());
          ASSERT_TRUE(loader->set_epoch(epoch).ok());
          const std::vector<Batch> batches = epoch_of(*loader);
          ASSERT_EQ(static_cast<int64_t>(batches.size()), plan->steps);
          for (size_t step = 0; step < batches.size(); ++step) {
            EXPECT_EQ(batches[step].ids, plan->first[step].ids) << last << world << rank;
            EXPECT_EQ(batches[step].positions, plan->first[step].positions);
            EXPECT_EQ(batches[step].padding, plan->first[step].padding);
          }
        }
      }
    }
  }
}

TEST(EpochPlan, of_batches_by_length_is_what_each_rank_gets) {
  const Pipeline pipeline = arrays({{"x", counting(200)}}).shuffle().bucket({.by = "x", .tokens = 900, .group = 3});
  for (const int world : {1, 3}) {
    for (int rank = 0; rank < world; ++rank) {
      const auto loader = opened(pipeline, {.seed = 9, .job = {.rank = rank, .world_size = world}});
      ASSERT_TRUE(loader->prepare().ok());
      const auto plan = loader->plan(1, rank, world, INT64_MAX);
      ASSERT_TRUE(plan.ok());
      ASSERT_TRUE(loader->set_epoch(1).ok());
      const std::vector<Batch> batches = epoch_of(*loader);
      ASSERT_EQ(static_cast<int64_t>(batches.size()), plan->steps);
      for (size_t step = 0; step < batches.size(); ++step) {
        EXPECT_EQ(batches[step].ids, plan->first[step].ids);
        EXPECT_EQ(batches[step].positions, plan->first[step].positions);
        EXPECT_TRUE(batches[step].size() * std::ranges::max(batches[step].ids) <= 900 || batches[step].size() == 1);
      }
    }
  }
}

TEST(EpochPlan, OfAnyRankCanBeComputedOnAnyOther) {
  const auto first = opened(numbers(50, 4, "pad"), {.job = {.rank = 0, .world_size = 2}});
  const auto second = opened(numbers(50, 4, "pad"), {.job = {.rank = 1, .world_size = 2}});
  for (const int64_t rank : {0, 1, 2}) {
    const auto told = first->plan(1, rank, 3, 100), own = second->plan(1, rank, 3, 100);
    ASSERT_TRUE(told.ok() && own.ok());
    for (size_t step = 0; step < own->first.size(); ++step) EXPECT_EQ(told->first[step].ids, own->first[step].ids);
  }
}

TEST(EpochPlan, IsTruncatedButCountsAllSteps) {
  const auto loader = opened(numbers(50, 4, "partial"));
  EXPECT_EQ(loader->plan(0, 0, 1, 0)->first.size(), 0u);
  EXPECT_EQ(loader->plan(0, 0, 1, 0)->steps, 13);
  EXPECT_EQ(loader->plan(0, 0, 1, 5)->first.size(), 5u);
  EXPECT_EQ(loader->plan(0, 0, 1, 5000)->first.size(), 13u);
}

TEST(EpochPlan, RefusesImpossibleRequests) {
  const auto loader = opened(numbers(50, 4, "partial"));
  for (const auto& [epoch, rank, world] : std::vector<std::array<int64_t, 3>>{
           {0, 0, 0}, {0, 0, -1}, {0, -1, 2}, {0, 2, 2}, {0, 0, int64_t{1} << 40}, {-1, 0, 1}}) {
    const auto plan = loader->plan(epoch, rank, world, 3);
    ASSERT_FALSE(plan.ok()) << epoch << " " << rank << " " << world;
    EXPECT_EQ(plan.status().code(), Code::kInvalidArgument);
  }
}

TEST(EpochPlan, IsRefusedBeforeAFilterHasRun) {
  const auto loader =
      opened(arrays({{"x", counting(10)}}).filter([](const Sample&) -> Result<bool> { return true; }).batch(4));
  EXPECT_EQ(loader->plan(0, 0, 1, 1).status().code(), Code::kInvalidArgument);
  ASSERT_TRUE(loader->prepare().ok());
  EXPECT_EQ(loader->plan(0, 0, 1, 1)->size, 10);
}

// Steps of a description

TEST(SelectUnread, TakesApplyOneAfterAnother) {
  const Pipeline pipeline = arrays({{"x", counting(50)}});
  const auto chosen = [](const Pipeline& of) { return select_unread(of.description(), nullptr, 50); };
  EXPECT_EQ(chosen(pipeline)->size(), 50);
  EXPECT_EQ(chosen(pipeline.take(7).take(30))->size(), 7);
  EXPECT_EQ(chosen(pipeline.take(0).take(30))->size(), 0);
  const auto spread = chosen(pipeline.take(10, {.spread = true}).take(3));
  EXPECT_EQ(spread->size(), 3);
  EXPECT_EQ(spread->id_at(2), 10);
}

TEST(StepArguments, TheBatchSizeIsOneWithoutABatch) {
  const Pipeline pipeline = arrays({{"x", counting(50)}});
  EXPECT_EQ(batch_size(pipeline.description()), 1);
  const ScheduleOptions schedule = schedule_of(pipeline.description(), 50, 2);
  EXPECT_EQ(schedule.batch_size, 1);
  EXPECT_EQ(schedule.last, LastPolicy::kPartial);
  EXPECT_EQ(schedule_of(pipeline.batch(3, {.last = "drop"}).description(), 50, 2).last, LastPolicy::kDrop);
}

// Lanes

TEST(Ordering, ARankReadsFromNoMoreLanesThanTheBound) {
  for (int64_t lanes = 1; lanes <= 12; ++lanes) {
    for (int64_t world = 1; world <= 9; ++world) {
      Ordering ordering;
      ordering.lanes = lanes;
      ordering.assignment = lanes > 1 ? assignment_by_lane(lanes) : assignment_by_count();
      const int64_t told = lanes_of_rank(ordering, world);
      EXPECT_GE(told, 1);
      EXPECT_LE(told, lanes);
      for (int64_t batch = 1; batch <= 24; ++batch) {
        if (batch * world % lanes != 0) continue;  // rows move between ranks
        for (int64_t rank = 0; rank < world; ++rank) {
          std::vector<int64_t> slots;
          ordering.assignment->slots(
              {.position = 0, .samples = batch * world, .slots = batch * world, .world_size = world}, rank, &slots);
          std::set<int64_t> touched;
          for (const int64_t slot : slots) touched.insert(slot % lanes);
          EXPECT_LE(static_cast<int64_t>(touched.size()), told)
              << lanes << " lanes, " << world << " ranks, batch " << batch;
        }
      }
    }
  }
}

// Which samples take part

TEST(Selection, ManyIdsAtOnceAreThoseOneByOne) {
  const std::shared_ptr<const Selection> kept[] = {
      first_samples(128), first_of(first_samples(128), 100),
      std::make_shared<MarkedSamples>(first_samples(128),
                                      std::vector<uint64_t>{0x5555555555555555, 0xF0F0F0F0F0F0F0F0}),
      first_of(std::make_shared<MarkedSamples>(first_samples(128), std::vector<uint64_t>{0x5555555555555555, 1}), 20)};
  for (const auto& selection : kept) {
    std::vector<int64_t> indices;
    for (int64_t i = selection->size(); i-- > 0;) indices.push_back(i);
    std::vector<int64_t> ids = indices;
    selection->ids_at(ids);
    for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], selection->id_at(indices[i]));
  }
}

}  // namespace
}  // namespace forebay
