#include <gtest/gtest.h>

#include "pipeline/run/parts_test_support.h"
#include "pipeline/run/runner_test_support.h"

// Who gives way to whom.

namespace forebay {
namespace {

using namespace runner_test;

constexpr uint64_t kBatch = 4 * (16 + 8);  // of four rows

struct FullRig : Rig {
  FullRig() {
    store = std::make_shared<HeldStore>(Objects::store_of(sizes));
    shuffled = false;
    batch = 4;
    options.requests = 64;
  }
};

// All tasks of three batches are being read.
void read_all(Parts& parts, Actions& actions) {
  for (int i = 0; i < 3; ++i) {
    const WindowBatchPtr batch = parts.begin();
    for (RowTask& task : batch->tasks) ASSERT_EQ(parts.tasks.start(batch, task, actions), Step::kMoved);
  }
}

// Answers come, so that what is taken back is given back at once.
void land_all(Parts& parts, HeldStore& store, Actions& actions) {
  parts.send(actions);
  while (store.held() > 0) store.answer();
}

TEST(Room, the_youngest_batches_give_way_and_no_more_than_is_needed) {
  FullRig rig;
  rig.options.memory = 3 * kBatch + 12'000;
  Parts parts(rig.plan(), rig.itinerary(), rig.options);
  Actions actions;
  read_all(parts, actions);
  land_all(parts, static_cast<HeldStore&>(*rig.store), actions);
  EXPECT_TRUE(parts.core.memory.full());
  EXPECT_TRUE(parts.room.make(*parts.batches[0], &parts.batches[0]->tasks[0], 3000));
  EXPECT_TRUE(parts.batches[2]->tasks[0].is<RowTask::Waiting>());
  EXPECT_TRUE(parts.batches[1]->tasks[0].is<RowTask::Ready>()) << "one batch was enough";
  EXPECT_EQ(parts.core.memory.used(), 2 * kBatch + 8000);
  EXPECT_EQ(parts.core.retracted, 4);
}

TEST(Room, in_the_front_batch_younger_tasks_give_way_one_by_one) {
  FullRig rig;
  rig.options.memory = kBatch + 4000;
  Parts parts(rig.plan(), rig.itinerary(), rig.options);
  const WindowBatchPtr batch = parts.begin();
  Actions actions;
  for (RowTask& task : batch->tasks) ASSERT_EQ(parts.tasks.start(batch, task, actions), Step::kMoved);
  land_all(parts, static_cast<HeldStore&>(*rig.store), actions);
  EXPECT_TRUE(parts.room.make(*batch, &batch->tasks[0], 1500));
  EXPECT_TRUE(batch->tasks[0].is<RowTask::Ready>());
  EXPECT_TRUE(batch->tasks[1].is<RowTask::Ready>());
  EXPECT_TRUE(batch->tasks[2].is<RowTask::Waiting>());
  EXPECT_TRUE(batch->tasks[3].is<RowTask::Waiting>());
}

TEST(Room, nobody_gives_way_to_a_task_that_is_not_the_oldest) {
  FullRig rig;
  rig.options.memory = 3 * kBatch + 12'000;
  Parts parts(rig.plan(), rig.itinerary(), rig.options);
  Actions actions;
  read_all(parts, actions);
  land_all(parts, static_cast<HeldStore&>(*rig.store), actions);
  EXPECT_FALSE(parts.room.make(*parts.batches[0], &parts.batches[0]->tasks[1], 1000));
  EXPECT_FALSE(parts.room.make(*parts.batches[1], &parts.batches[1]->tasks[0], 1000));
  EXPECT_EQ(parts.core.memory.used(), rig.options.memory);
}

TEST(Room, what_is_in_flight_is_waited_for_and_no_error) {
  FullRig rig;
  rig.options.memory = kBatch + 4000;
  Parts parts(rig.plan(), rig.itinerary(), rig.options);
  const WindowBatchPtr batch = parts.begin();
  Actions actions;
  for (RowTask& task : batch->tasks) ASSERT_EQ(parts.tasks.start(batch, task, actions), Step::kMoved);
  parts.send(actions);
  EXPECT_FALSE(parts.room.make(*batch, &batch->tasks[0], 4000)) << "their bytes come back when they have landed";
  EXPECT_FALSE(batch->complete);
  EXPECT_EQ(parts.core.memory.used(), kBatch + 4000);
  while (static_cast<HeldStore&>(*rig.store).held() > 0) static_cast<HeldStore&>(*rig.store).answer();
  EXPECT_EQ(parts.core.memory.used(), kBatch + 1000);
}

TEST(Room, idle_memory_goes_first) {
  FullRig rig;
  rig.options.memory = 2 * kBatch + 4000;
  Parts parts(rig.plan(), rig.itinerary(), rig.options);
  const WindowBatchPtr batch = parts.begin();
  Actions actions;
  for (RowTask& task : batch->tasks) ASSERT_EQ(parts.tasks.start(batch, task, actions), Step::kMoved);
  {
    const auto idle = parts.core.memory.batches().acquire(kBatch);
  }
  EXPECT_TRUE(parts.room.make(*batch, &batch->tasks[3], kBatch)) << "also for a task that is not the oldest";
  EXPECT_TRUE(batch->tasks[2].is<RowTask::Fetching>());
}

TEST(Room, what_nothing_can_hold_stands_in_the_batchs_place_with_the_figure) {
  FullRig rig;
  rig.options.memory = kBatch + 4000;
  Parts parts(rig.plan(), rig.itinerary(), rig.options);
  const WindowBatchPtr batch = parts.begin();
  Actions actions;
  parts.tasks.start(batch, batch->tasks[0], actions);
  land_all(parts, static_cast<HeldStore&>(*rig.store), actions);
  EXPECT_FALSE(parts.room.make(*batch, &batch->tasks[0], 9000));
  EXPECT_TRUE(batch->complete);
  EXPECT_EQ(batch->job.fatal.code(), Code::kOutOfBudget);
  EXPECT_EQ(batch->job.fatal.bytes_needed(), parts.core.memory.used() + 9000);
  EXPECT_EQ(batch->job.fatal.key(), "object 0");
}

TEST(Room, a_part_that_nobody_fixed_is_raised_before_that) {
  FullRig rig;
  rig.options.memory = kBatch + 4000;
  rig.options.memory_together = 1 << 20;
  Parts parts(rig.plan(), rig.itinerary(), rig.options);
  const WindowBatchPtr batch = parts.begin();
  Actions actions;
  parts.tasks.start(batch, batch->tasks[0], actions);
  land_all(parts, static_cast<HeldStore&>(*rig.store), actions);
  EXPECT_TRUE(parts.room.make(*batch, &batch->tasks[0], 9000));
  EXPECT_FALSE(batch->complete);
  EXPECT_GE(parts.core.memory.capacity(), parts.core.memory.used() + 9000);
}

}  // namespace
}  // namespace forebay
