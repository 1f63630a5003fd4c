#include <gtest/gtest.h>

#include "pipeline/run/parts_test_support.h"
#include "pipeline/run/runner_test_support.h"

// Tests the states of a task, step by step.

namespace forebay {
namespace {

using namespace runner_test;

struct HeldRig : Rig {
  std::shared_ptr<HeldStore> held = std::make_shared<HeldStore>(Objects::store_of(sizes));
  HeldRig() {
    store = held;
    shuffled = false;
    batch = 4;
  }
  Parts parts() { return Parts(plan(), itinerary(), options); }
};

TEST(RowTasks, a_task_is_read_computed_and_done) {
  HeldRig rig;
  Parts parts = rig.parts();
  const WindowBatchPtr batch = parts.begin();
  RowTask& task = batch->tasks[0];
  Actions actions;
  EXPECT_EQ(parts.tasks.start(batch, task, actions), AdvanceResult::kMoved);
  EXPECT_TRUE(task.is<RowTask::Reading>());
  EXPECT_EQ(parts.held(Use::kFetched), 1000u);
  ASSERT_EQ(actions.reads.size(), 1u);
  parts.send(actions);
  EXPECT_TRUE(task.is<RowTask::Reading>()) << "nothing has come back";
  rig.held->answer();
  EXPECT_TRUE(task.is<RowTask::Runnable>());
  EXPECT_EQ(parts.advances, 1) << "what came back lets the run advance";
  EXPECT_EQ(parts.tasks.compute(batch, task, actions), AdvanceResult::kMoved);
  EXPECT_TRUE(task.is<RowTask::Running>());
  EXPECT_EQ(batch->summary.running(), 1u);
  parts.carry_out(actions);
  EXPECT_TRUE(task.is<RowTask::Ready>());
  EXPECT_EQ(batch->summary.done(), 1u);
  EXPECT_EQ(batch->summary.running(), 0u);
  EXPECT_EQ(parts.core.posted(), 0);
  EXPECT_EQ(parts.held(Use::kFetched), 0u) << "what was fetched is in the batch now";
}

TEST(RowTasks, the_answer_to_a_read_that_was_taken_back_is_not_wanted) {
  HeldRig rig;
  Parts parts = rig.parts();
  const WindowBatchPtr batch = parts.begin();
  RowTask& task = batch->tasks[0];
  Actions actions;
  parts.tasks.start(batch, task, actions);
  parts.send(actions);
  parts.revocation.yield(*batch, task);
  EXPECT_TRUE(task.is<RowTask::Waiting>());
  EXPECT_EQ(parts.held(Use::kFetched), 1000u) << "the bytes are on their way all the same";
  parts.tasks.start(batch, task, actions);  // another read of the same object
  parts.send(actions);
  rig.held->answer();
  EXPECT_TRUE(task.is<RowTask::Reading>()) << "that was the first one's answer";
  EXPECT_EQ(parts.held(Use::kFetched), 1000u);
  rig.held->answer();
  EXPECT_TRUE(task.is<RowTask::Runnable>());
  EXPECT_EQ(parts.core.reclaimed, 1);
}

TEST(RowTasks, storage_that_is_away_matters_only_to_the_batch_in_front) {
  HeldRig rig;
  Parts parts = rig.parts();
  const WindowBatchPtr front = parts.begin(), later = parts.begin();
  Actions actions;
  parts.tasks.start(front, front->tasks[0], actions);
  parts.tasks.start(later, later->tasks[0], actions);
  parts.send(actions);
  rig.held->answer(unavailable("the server is away"));
  EXPECT_TRUE(front->complete);
  EXPECT_EQ(front->job.fatal.code(), Code::kUnavailable);
  rig.held->answer(unavailable("the server is away"));
  EXPECT_TRUE(later->tasks[0].is<RowTask::Waiting>()) << "it is asked for again";
  EXPECT_TRUE(later->job.fatal.ok());
}

TEST(RowTasks, no_more_reads_than_request_slots) {
  HeldRig rig;
  rig.options.requests = 2;
  Parts parts = rig.parts();
  const WindowBatchPtr batch = parts.begin();
  Actions actions;
  EXPECT_EQ(parts.tasks.start(batch, batch->tasks[0], actions), AdvanceResult::kMoved);
  EXPECT_EQ(parts.tasks.start(batch, batch->tasks[1], actions), AdvanceResult::kMoved);
  EXPECT_EQ(parts.tasks.start(batch, batch->tasks[2], actions), AdvanceResult::kLacksSlot);
  EXPECT_TRUE(batch->tasks[2].is<RowTask::Waiting>());
}

TEST(RowTasks, ahead_of_the_window_only_the_bytes_set_aside_are_fetched) {
  HeldRig rig;
  rig.options.requests = 32;
  rig.options.memory.ahead = 2500;
  Parts parts = rig.parts();
  const WindowBatchPtr batch = parts.begin();
  Actions actions;
  EXPECT_FALSE(parts.tasks.fetch_ahead(batch, actions));
  EXPECT_EQ(actions.reads.size(), 2u);
  EXPECT_FALSE(batch->job.has_slots()) << "no memory of the batch itself";
}

/// A cache that may grow to the size set aside for it, and is empty.
struct EmptyCache final : ReclaimableMemory {
  uint64_t bytes() const override { return 0; }
  uint64_t reclaim(uint64_t) override { return 0; }
};

TEST(RowTasks, younger_batches_leave_what_the_front_one_needs_to_be_put_together_where_a_cache_would_pay_for_it) {
  for (const bool cached : {false, true}) {
    HeldRig rig;
    rig.options.memory.share.wanted = 20'000;
    rig.options.requests = 64;
    rig.options.memory.ahead = 20'000;
    const auto cache = std::make_shared<EmptyCache>();
    if (cached) rig.options.memory.accounts = {{Use::kCaches, cache, ByteBudget::Kind::kEntries, 10'000, 10'000}};
    Parts parts = rig.parts();
    parts.core.memory.record_assembly_bytes(4000);
    const WindowBatchPtr front = parts.begin(), later = parts.begin();
    Actions actions;
    for (RowTask& task : front->tasks) EXPECT_EQ(parts.tasks.start(front, task, actions), AdvanceResult::kMoved);
    EXPECT_EQ(parts.tasks.start(later, later->tasks[0], actions), AdvanceResult::kMoved);
    const AdvanceResult left = cached ? AdvanceResult::kLacksMemory : AdvanceResult::kMoved;
    EXPECT_EQ(parts.tasks.start(later, later->tasks[1], actions), left) << cached;
    EXPECT_EQ(parts.tasks.fetch_ahead(parts.begin(), actions), !cached);
    parts.send(actions);
    while (rig.held->held() > 0) rig.held->answer();
  }
}

TEST(RowTasks, what_an_operator_asks_for_is_granted_before_it_runs_again) {
  HeldRig rig;
  rig.ops = {{"summary", summary({}, /*working_bytes=*/5000)}};
  Parts parts = rig.parts();
  const WindowBatchPtr batch = parts.begin();
  RowTask& task = batch->tasks[0];
  Actions actions;
  parts.tasks.start(batch, task, actions);
  parts.send(actions);
  rig.held->answer();
  parts.tasks.compute(batch, task, actions);
  parts.carry_out(actions);
  ASSERT_TRUE(task.is<RowTask::Runnable>()) << "it has told what it needs";
  EXPECT_EQ(task.working_needed, 5000u);
  parts.tasks.compute(batch, task, actions);
  EXPECT_EQ(parts.held(Use::kWorking), 5000u);
  parts.carry_out(actions);
  EXPECT_TRUE(task.is<RowTask::Ready>());
  EXPECT_EQ(parts.held(Use::kWorking), 0u);
}

TEST(RowTasks, a_task_of_a_batch_that_was_taken_back_waits_again_when_its_thread_is_done) {
  HeldRig rig;
  Parts parts = rig.parts();
  const WindowBatchPtr batch = parts.begin();
  Actions actions;
  parts.tasks.start(batch, batch->tasks[0], actions);
  parts.send(actions);
  rig.held->answer();
  parts.tasks.compute(batch, batch->tasks[0], actions);
  parts.revocation.revoke_batch(*batch);
  EXPECT_TRUE(batch->tasks[0].is<RowTask::Running>()) << "a thread looks into it";
  EXPECT_TRUE(batch->job.has_slots());
  parts.carry_out(actions);
  EXPECT_TRUE(batch->tasks[0].is<RowTask::Waiting>());
  EXPECT_FALSE(batch->revoking);
  EXPECT_FALSE(batch->job.has_slots());
  parts.core.memory.trim();
  EXPECT_EQ(parts.core.memory.used(), 0u);
}

}  // namespace
}  // namespace forebay
