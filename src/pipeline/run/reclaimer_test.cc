#include <gtest/gtest.h>

#include <optional>

#include "pipeline/run/parts_test_support.h"
#include "pipeline/run/runner_test_support.h"

// Tests for whom memory is reclaimed, and from which elements.

namespace forebay {
namespace {

using namespace runner_test;

constexpr uint64_t kBatch = 4 * (16 + 8);  // bytes of a batch of four rows

// A run with batches of four rows of 1,000 bytes each in storage. The test decides on its memory.
class ReclaimerTest : public testing::Test {
 protected:
  Parts& open(uint64_t memory, uint64_t together = 0) {
    rig_.store = store_ = std::make_shared<HeldStore>(Objects::store_of(rig_.sizes));
    rig_.shuffled = false;
    rig_.batch = 4;
    rig_.options.requests = 64;
    rig_.options.memory.share.wanted = memory;
    rig_.options.memory.share.shared_limit = together;
    return parts_.emplace(rig_.plan(), rig_.itinerary(), rig_.options);
  }
  /// Adds a batch and starts reads of `rows` of its rows.
  WindowBatch& read(size_t rows = 4) {
    const WindowBatchPtr batch = parts_->begin();
    for (size_t i = 0; i < rows; ++i)
      EXPECT_EQ(parts_->tasks.start(batch, batch->tasks[i], actions_), AdvanceResult::kMoved) << i;
    return *batch;
  }
  void send() { parts_->send(actions_); }
  /// Sends and answers all reads, so that revoked memory is returned at once.
  void land() {
    send();
    answer();
  }
  void answer() {
    while (store_->held() > 0) store_->answer();
  }

 private:
  Rig rig_;
  std::shared_ptr<HeldStore> store_;
  std::optional<Parts> parts_;
  Actions actions_;
};

TEST_F(ReclaimerTest, the_youngest_batches_give_way_and_no_more_than_is_needed) {
  Parts& parts = open(3 * kBatch + 12'000);
  WindowBatch &oldest = read(), &middle = read(), &youngest = read();
  land();
  EXPECT_TRUE(parts.core.memory.full());
  EXPECT_TRUE(parts.reclaimer.reclaim(oldest, &oldest.tasks[0], 3000));
  EXPECT_TRUE(youngest.tasks[0].is<RowTask::Waiting>());
  EXPECT_TRUE(middle.tasks[0].is<RowTask::Runnable>()) << "one batch was enough";
  EXPECT_EQ(parts.core.memory.used(), 2 * kBatch + 8000);
  EXPECT_EQ(parts.core.reclaimed, 4);
}

TEST_F(ReclaimerTest, in_the_front_batch_younger_tasks_give_way_one_by_one) {
  Parts& parts = open(kBatch + 4000);
  WindowBatch& batch = read();
  land();
  EXPECT_TRUE(parts.reclaimer.reclaim(batch, &batch.tasks[0], 1500));
  EXPECT_TRUE(batch.tasks[0].is<RowTask::Runnable>());
  EXPECT_TRUE(batch.tasks[1].is<RowTask::Runnable>());
  EXPECT_TRUE(batch.tasks[2].is<RowTask::Waiting>());
  EXPECT_TRUE(batch.tasks[3].is<RowTask::Waiting>());
}

TEST_F(ReclaimerTest, nobody_gives_way_to_a_task_that_is_not_the_oldest) {
  Parts& parts = open(3 * kBatch + 12'000);
  WindowBatch &oldest = read(), &middle = read();
  read();
  land();
  EXPECT_FALSE(parts.reclaimer.reclaim(oldest, &oldest.tasks[1], 1000));
  EXPECT_FALSE(parts.reclaimer.reclaim(middle, &middle.tasks[0], 1000));
  EXPECT_EQ(parts.core.memory.used(), 3 * kBatch + 12'000);
}

TEST_F(ReclaimerTest, what_is_in_flight_is_waited_for_and_no_error) {
  Parts& parts = open(kBatch + 4000);
  WindowBatch& batch = read();
  send();
  EXPECT_FALSE(parts.reclaimer.reclaim(batch, &batch.tasks[0], 4000)) << "their bytes come back when they have landed";
  EXPECT_FALSE(batch.complete);
  EXPECT_EQ(parts.core.memory.used(), kBatch + 4000);
  answer();
  EXPECT_EQ(parts.core.memory.used(), kBatch + 1000);
}

TEST_F(ReclaimerTest, idle_memory_goes_first) {
  Parts& parts = open(2 * kBatch + 4000);
  WindowBatch& batch = read();
  {
    const auto idle = parts.core.memory.batches().acquire(kBatch);
  }
  EXPECT_TRUE(parts.reclaimer.reclaim(batch, &batch.tasks[3], kBatch)) << "also for a task that is not the oldest";
  EXPECT_TRUE(batch.tasks[2].is<RowTask::Reading>());
}

TEST_F(ReclaimerTest, what_nothing_can_hold_stands_in_the_batchs_place_with_the_figure) {
  Parts& parts = open(kBatch + 4000);
  WindowBatch& batch = read(1);
  land();
  EXPECT_FALSE(parts.reclaimer.reclaim(batch, &batch.tasks[0], 9000));
  EXPECT_TRUE(batch.complete);
  EXPECT_EQ(batch.job.fatal.code(), Code::kOutOfBudget);
  EXPECT_EQ(batch.job.fatal.bytes_needed(), parts.core.memory.used() + 9000);
  EXPECT_EQ(batch.job.fatal.key(), "object 0");
}

TEST_F(ReclaimerTest, a_part_that_nobody_fixed_is_raised_before_that) {
  Parts& parts = open(kBatch + 4000, 1 << 20);
  WindowBatch& batch = read(1);
  land();
  EXPECT_TRUE(parts.reclaimer.reclaim(batch, &batch.tasks[0], 9000));
  EXPECT_FALSE(batch.complete);
  EXPECT_GE(parts.core.memory.capacity(), parts.core.memory.used() + 9000);
}

}  // namespace
}  // namespace forebay
