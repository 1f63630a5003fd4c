#include "pipeline/row_work.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "pipeline/run/runner_test_support.h"

// Rows are processed one task at a time on this thread. The outcome depends on the rows and not on
// a schedule.

namespace forebay::runner_test {
namespace {

/// The first batch of a rig, with memory for its rows.
struct Bench {
  explicit Bench(Rig rig, BadSample policy = BadSample::kRaise)
      : plan(rig.plan()), itinerary(rig.itinerary()), work(plan, itinerary, policy),
        batch(plan, *itinerary->step(Cursor())) {
    EXPECT_TRUE(batch.acquire_slots(*pool));
  }
  RowInput task(int64_t row) const {
    RowInput input;
    input.begin = row;
    input.end = row + 1;
    input.first_row = row;
    work.look_up(input, batch);
    if (plan->fetches) work.prepare_read(input, batch);
    return input;
  }
  RowResult run(RowInput& input, uint64_t grant = UINT64_MAX) {
    WorkMemory memory(grant);
    return work.run(input, batch, {}, memory);
  }
  int64_t label(int64_t row) {
    int64_t value = 0;
    std::memcpy(&value, batch.slot(1, row), sizeof value);
    return value;
  }

  std::shared_ptr<ByteBudget> budget = std::make_shared<ByteBudget>(1 << 20);
  std::shared_ptr<BufferPool> pool = std::make_shared<BufferPool>(budget, 4);
  std::shared_ptr<BranchPlan> plan;
  std::shared_ptr<StepSource> itinerary;
  RowWork work;
  BatchJob batch;
};

Rig in_order(Does::Function op = summary()) {
  Rig rig;
  rig.shuffled = false;
  rig.ops = {{"op", std::move(op)}};
  return rig;
}

TEST(RowWork, a_row_that_is_at_hand_is_done) {
  Bench bench(in_order());
  RowInput input = bench.task(3);
  const RowResult result = bench.run(input);
  EXPECT_EQ(result.verdict, Verdict::kDone);
  EXPECT_EQ(result.read_from, bench.plan->store()) << "it was read on this thread";
  EXPECT_TRUE(result.errors.empty());
  EXPECT_EQ(bench.label(3), 30);
}

TEST(RowWork, an_object_that_is_far_is_not_waited_for) {
  Rig rig = in_order();
  rig.store = slow_store(Objects::store_of(rig.sizes), {.latency_ms = 1});
  Bench bench(rig);
  RowInput input = bench.task(0);
  EXPECT_EQ(bench.run(input).verdict, Verdict::kPageCacheMiss);
  input.bytes.pieces.front().bytes = Buffer::allocate(1000);
  input.bytes.pieces_read = true;
  EXPECT_EQ(bench.run(input).verdict, Verdict::kDone);
}

TEST(RowWork, a_row_asks_for_memory_and_runs_again_from_the_start) {
  Bench bench(in_order(summary({}, 5000)));
  RowInput input = bench.task(1);
  const RowResult asks = bench.run(input, 100);
  EXPECT_EQ(asks.verdict, Verdict::kNeedsBytes);
  EXPECT_GE(asks.needs_bytes, 5000u);
  EXPECT_EQ(bench.run(input, asks.needs_bytes).verdict, Verdict::kDone);
  EXPECT_EQ(bench.label(1), 10);
}

TEST(RowWork, what_a_bad_sample_means_is_the_policys) {
  const Does::Function bad = summary({2});
  {
    Bench bench(in_order(bad), BadSample::kRaise);
    RowInput input = bench.task(2);
    const RowResult result = bench.run(input);
    EXPECT_EQ(result.verdict, Verdict::kDone);
    ASSERT_EQ(result.errors.size(), 1u);
    EXPECT_TRUE(result.errors[0].raise);
    EXPECT_EQ(result.errors[0].status.to_string(), "Corrupt: object 2: op: made to fail (sample 2)");
  }
  {
    Bench bench(in_order(bad), BadSample::kSkip);
    RowInput input = bench.task(2);
    const RowResult result = bench.run(input);
    EXPECT_EQ(result.verdict, Verdict::kDone);
    EXPECT_TRUE(bench.batch.rows()[2].skipped);
    EXPECT_EQ(result.errors.size(), 1u);
  }
  Bench bench(in_order(bad), BadSample::kReplace);
  RowInput input = bench.task(2);
  EXPECT_EQ(bench.run(input).verdict, Verdict::kReplaced) << "the replacement has to be fetched";
  const int64_t other = bench.batch.rows()[2].id;
  EXPECT_NE(other, 2);
  input = bench.task(2);
  EXPECT_EQ(bench.run(input).verdict, Verdict::kDone);
  EXPECT_EQ(bench.label(2), 10 * other);
}

TEST(RowWork, a_replacement_that_is_at_hand_is_taken_at_once) {
  Rig rig = in_order(summary({2}));
  rig.change_plan = [](BranchPlan& plan) { plan.fetches = false; };
  Bench bench(rig, BadSample::kReplace);
  RowInput input = bench.task(2);
  const RowResult result = bench.run(input);
  EXPECT_EQ(result.verdict, Verdict::kDone);
  EXPECT_EQ(result.errors.size(), 1u);
  EXPECT_EQ(bench.label(2), 10 * bench.batch.rows()[2].id);
  EXPECT_NE(bench.label(2), 20);
}

// The cache entry belongs to the bad sample and not to its replacement.
TEST(RowWork, a_kept_sample_that_fails_later_is_not_taken_for_its_replacement) {
  Rig rig = in_order(summary({2}));
  rig.change_plan = [](BranchPlan& plan) {
    plan.fetches = false;
    KeyedStage cache;
    cache.schema = plan.source->schema();
    cache.from_before = {std::nullopt, size_t{1}};
    cache.in_entry = {true, false};
    plan.stages.insert(plan.stages.begin(), std::move(cache));
    plan.keyed = {0};
  };
  Bench bench(rig, BadSample::kReplace);
  RowInput input = bench.task(2);
  Schema bytes({bench.plan->source->schema()[0]});
  Record record;
  record.push_back(Value::of_bytes(Buffer::allocate(10)));
  input.bytes.entry = StoredBytes::Entry{{}, 0, std::make_shared<const Columns>(*columns_of(bytes, record))};
  EXPECT_EQ(bench.run(input).verdict, Verdict::kReplaced);
  input = bench.task(2);
  EXPECT_EQ(bench.run(input).verdict, Verdict::kDone);
  EXPECT_EQ(bench.label(2), 10 * bench.batch.rows()[2].id);
}

TEST(RowWork, replacements_end) {
  std::set<int64_t> all;
  for (int64_t id = 0; id < 50; ++id) all.insert(id);
  Rig rig = in_order(summary(all));
  rig.change_plan = [](BranchPlan& plan) { plan.fetches = false; };
  Bench bench(rig, BadSample::kReplace);
  RowInput input = bench.task(0);
  const RowResult result = bench.run(input);
  EXPECT_EQ(result.verdict, Verdict::kDone);
  ASSERT_EQ(result.errors.size(), 50u);
  EXPECT_TRUE(result.errors.back().raise);
}

TEST(RowWork, transient_errors_and_bugs_spoil_the_batch) {
  Bench unavailable(in_order([](Record&, const SampleContext&) -> Status { return forebay::unavailable("gone"); }),
                    BadSample::kSkip);
  RowInput input = unavailable.task(4);
  const RowResult transient = unavailable.run(input);
  EXPECT_EQ(transient.verdict, Verdict::kFatal);
  EXPECT_EQ(transient.fatal.code(), Code::kUnavailable);
  EXPECT_EQ(transient.fatal.sample(), 4);
  Bench throws(in_order([](Record&, const SampleContext&) -> Status { throw std::runtime_error("a bug"); }));
  input = throws.task(4);
  const RowResult bug = throws.run(input);
  EXPECT_EQ(bug.verdict, Verdict::kFatal);
  EXPECT_EQ(bug.fatal.code(), Code::kInternal);
  EXPECT_EQ(bug.fatal.sample(), 4);
}

TEST(RowWork, rows_stop_at_user_code_and_go_on_behind_it) {
  Rig rig = in_order();
  rig.change_plan = [](BranchPlan& plan) {
    ForeignStage user;
    user.name = "map(<function>)";
    user.step = 2;
    user.merge = true;
    user.output_schema = plan.output_schema;
    plan.stages.push_back(std::move(user));
  };
  Bench bench(rig);
  RowInput input = bench.task(5);
  EXPECT_EQ(bench.run(input).verdict, Verdict::kForeign);
  EXPECT_EQ(input.stage, 1u);
  EXPECT_EQ(input.record.size(), 2u);
  ++input.stage;  // as if user code had answered
  EXPECT_EQ(bench.run(input).verdict, Verdict::kDone);
  EXPECT_EQ(bench.label(5), 50);
}

TEST(RowWork, replacements_outside_the_block_are_named) {
  Bench bench(in_order());
  ChunkBlock block;
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 10}, {20, 30}})
    block.add(std::make_shared<Chunk>(), begin, end);
  EXPECT_TRUE(block.has_row(0) && block.has_row(9) && block.has_row(20) && block.has_row(29));
  EXPECT_FALSE(block.has_row(10) || block.has_row(19) || block.has_row(30));
  EXPECT_EQ(block.locate(23).chunk, 1u);
  EXPECT_EQ(block.locate(23).row, 3);
  bench.batch.rows()[0] = {15, 1, false};
  RowInput input = bench.task(0);
  WorkMemory memory;
  const RowResult result = bench.work.run(input, bench.batch, {&block, {}, false}, memory);
  EXPECT_EQ(result.verdict, Verdict::kNeedsChunks);
  EXPECT_EQ(result.missing_ids, std::vector<int64_t>{15});
}

}  // namespace
}  // namespace forebay::runner_test
