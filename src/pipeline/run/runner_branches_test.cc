#include <gtest/gtest.h>

#include "pipeline/run/runner_chunks_test_support.h"

// Tests runs of several branches: each row is made by its branch, in the order of the plan.

namespace forebay::runner_test {
namespace {

// Steps over the samples of several data sets, each of them once an epoch.
std::shared_ptr<IndexedItinerary> steps_over(const std::vector<int64_t>& sizes, int64_t batch, int64_t epochs) {
  std::vector<std::unique_ptr<PlanNode>> leaves;
  std::vector<BranchSamples> samples;
  int64_t all = 0;
  for (const int64_t size : sizes) {
    leaves.push_back(leaf_node(shuffled_order(size, 5)));
    samples.push_back(all_of(size));
    all += size;
  }
  return std::make_shared<IndexedItinerary>(
      shuffled_union_node(std::move(leaves), 3), std::move(samples),
      std::make_shared<EqualBatches>(ScheduleOptions{.epoch_size = all, .batch_size = batch}), 0, epochs);
}

// (branch, id) of every row of a run, by its plan.
std::vector<std::pair<int32_t, int64_t>> planned_rows(const IndexedItinerary& steps) {
  std::vector<std::pair<int32_t, int64_t>> rows;
  for (Cursor at; !steps.finished(at);) {
    const StepPlan step = *steps.planned(at);
    for (const Row& row : step.rows) rows.emplace_back(row.branch, row.id);
    at = step.after;
  }
  return rows;
}

TEST(RunnerBranches, rows_come_from_their_branches_in_the_order_of_the_plan) {
  for (const int threads : {1, 3}) {
    for (const bool remote : {false, true}) {
      Rig first, second;
      first.sizes = mixed_sizes(70);
      second.sizes = mixed_sizes(25);
      if (remote) second.store = jittery(second.sizes);
      first.options.threads = threads;
      const auto steps = steps_over({70, 25}, 8, 2);
      const ExecutionPlan plan(std::vector<std::shared_ptr<const BranchPlan>>{first.plan(), second.plan()});
      Runner runner(first.engine, plan, steps, first.options);
      const Outcome outcome = drain(runner);
      EXPECT_EQ(outcome.raised, std::vector<std::string>());
      std::vector<int64_t> ids, labels;
      for (const auto& [branch, id] : planned_rows(*steps)) {
        ids.push_back(id);
        labels.push_back(10 * id);
      }
      EXPECT_EQ(outcome.ids, ids);
      EXPECT_EQ(outcome.labels, labels);
      EXPECT_EQ(runner.stats().branch_samples, (std::vector<int64_t>{140, 50}));
    }
  }
}

TEST(RunnerBranches, a_bad_sample_is_replaced_by_one_of_its_branch) {
  Rig first, second;
  first.sizes.assign(30, 100);
  second.sizes.assign(30, 100);
  std::set<int64_t> bad;
  for (int64_t id = 0; id < 15; ++id) bad.insert(id);
  second.ops = {{"summary", summary(bad)}};
  first.options.bad_sample = BadSample::kReplace;
  const auto steps = steps_over({30, 30}, 6, 1);
  const ExecutionPlan plan(std::vector<std::shared_ptr<const BranchPlan>>{first.plan(), second.plan()});
  Runner runner(first.engine, plan, steps, first.options);
  const Outcome outcome = drain(runner);
  EXPECT_GE(outcome.told.size(), 15u);
  const auto planned = planned_rows(*steps);
  ASSERT_EQ(outcome.ids.size(), planned.size());
  for (size_t row = 0; row < planned.size(); ++row) {
    if (planned[row].first == 0) {
      EXPECT_EQ(outcome.ids[row], planned[row].second);
    } else {
      EXPECT_GE(outcome.ids[row], 15);
    }
  }
}

// Two tables with rows of any length: the plan of each has its own order of chunks.
TEST(RunnerBranches, tables_are_decoded_once_a_pass_and_their_chunks_freed) {
  ChunkRig first, second;
  first.single_rows = second.single_rows = true;
  second.rows = {5, 60, 11};
  const auto order_of = [](const ChunkRig& rig) {
    return std::shared_ptr<const Order>(blockwise_order({.chunk_rows = rig.rows, .block = 2, .seed = 11}).value());
  };
  std::vector<std::unique_ptr<PlanNode>> leaves;
  std::vector<BranchSamples> samples;
  int64_t all = 0;
  for (const ChunkRig* rig : {&first, &second}) {
    const std::shared_ptr<const Order> order = order_of(*rig);
    all += order->size();
    samples.push_back(all_of(order->size()));
    leaves.push_back(leaf_node(order));
  }
  const auto steps = std::make_shared<IndexedItinerary>(
      shuffled_union_node(std::move(leaves), 3), std::move(samples),
      std::make_shared<EqualBatches>(ScheduleOptions{.epoch_size = all, .batch_size = 16}), 0, 3);
  const ExecutionPlan plan(std::vector<std::shared_ptr<const BranchPlan>>{first.plan(), second.plan()});
  Runner runner(first.engine, plan, steps, first.options);
  const Outcome outcome = drain(runner);
  EXPECT_EQ(outcome.raised, std::vector<std::string>());
  std::vector<int64_t> ids;
  for (const auto& [branch, id] : planned_rows(*steps)) ids.push_back(id);
  EXPECT_EQ(outcome.ids, ids);
  const std::vector<uint32_t> decodes = runner.decodes();
  ASSERT_EQ(decodes.size(), first.rows.size() + second.rows.size());
  for (const uint32_t count : decodes) EXPECT_LE(count, 3u) << "once a pass";
  EXPECT_EQ(runner.stats().memory.of(Use::kChunks), 0u);
}

}  // namespace
}  // namespace forebay::runner_test
