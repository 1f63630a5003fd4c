#include <gtest/gtest.h>

#include <set>

#include "pipeline/run/parts_test_support.h"
#include "pipeline/run/runner_chunks_test_support.h"

// Tests which chunks a batch needs, and for how long.

namespace forebay {
namespace {

using runner_test::ChunkRig;
using runner_test::HeldStore;
using runner_test::MadeChunks;
using runner_test::Parts;

Parts parts_of(ChunkRig& rig, int64_t rows_per_task) {
  rig.store = std::make_shared<HeldStore>(MadeChunks::store_of(rig.rows.size()));
  return Parts(rig.plan(), rig.itinerary(), rig.options, rows_per_task);
}

TEST(BlockUses, each_row_of_a_batch_is_in_one_task_whose_block_has_it) {
  for (const int64_t lanes : {int64_t{1}, int64_t{2}}) {
    ChunkRig rig;
    rig.lanes = lanes;
    Parts parts = parts_of(rig, /*rows_per_task=*/5);
    for (int n = 0; n < 8; ++n) {
      const WindowBatchPtr batch = parts.begin();
      std::set<int64_t> rows;
      for (const RowTask& task : batch->tasks) {
        EXPECT_LE(task.end - task.begin, 5);
        const RowPlacement at = batch->placement(task);
        for (int64_t i = task.begin; i < task.end; ++i) {
          EXPECT_TRUE(rows.insert(at.row(i)).second);
          EXPECT_TRUE(at.block->has_row(batch->job.rows()[static_cast<size_t>(at.row(i))].id));
        }
      }
      EXPECT_EQ(static_cast<int64_t>(rows.size()), batch->size());
    }
  }
}

TEST(BlockUses, a_block_has_as_many_users_as_tasks_and_none_when_they_have_left) {
  ChunkRig rig;
  Parts parts = parts_of(rig, 4);
  const WindowBatchPtr batch = parts.begin();
  int64_t users = 0;
  for (const ChunkBlockPtr& block : batch->blocks) users += block->users;
  EXPECT_EQ(users, static_cast<int64_t>(batch->tasks.size()));
  parts.uses.add_user(*batch, batch->tasks[0]);
  parts.uses.pin(*batch, batch->tasks[0]);
  EXPECT_EQ(batch->block_of(batch->tasks[0])->chunks.front()->pins, 1);
  parts.uses.release_all(*batch);
  for (const ChunkBlockPtr& block : batch->blocks) {
    EXPECT_EQ(block->users, 0);
    for (const auto& chunk : block->chunks) EXPECT_EQ(chunk->pins, 0);
  }
}

TEST(BlockUses, a_task_that_runs_keeps_its_block) {
  ChunkRig rig;
  Parts parts = parts_of(rig, 4);
  const WindowBatchPtr batch = parts.begin();
  batch->tasks[0].state = RowTask::Running{};
  parts.uses.release_all(*batch);
  EXPECT_EQ(batch->tasks[0].block_use, BlockUse::kUser);
  EXPECT_EQ(batch->tasks[1].block_use, BlockUse::kNone);
}

TEST(BlockUses, replacements_from_elsewhere_widen_a_block_until_that_is_forgotten) {
  ChunkRig rig;
  rig.block = 1;
  Parts parts = parts_of(rig, 4);
  const WindowBatchPtr batch = parts.begin();
  RowTask& task = batch->tasks[0];
  const ChunkBlockPtr own = batch->block_of(task);
  int64_t elsewhere = 0;
  while (own->has_row(elsewhere)) ++elsewhere;
  const int64_t users = own->users;
  parts.uses.widen(*batch, task, {elsewhere});
  EXPECT_TRUE(batch->block_of(task)->has_row(elsewhere));
  EXPECT_TRUE(batch->block_of(task)->has_chunk(*own->chunks.front())) << "beside its own";
  EXPECT_EQ(own->users, users - 1);
  EXPECT_TRUE(parts.uses.awaits_block(*batch, task));
  parts.uses.undo_widen(*batch, task);
  EXPECT_EQ(batch->block_of(task), own);
}

}  // namespace
}  // namespace forebay
