#include <algorithm>
#include <numeric>
#include <utility>

#include "pipeline/runner.h"

// Which blocks of units a batch needs, and for how long.

namespace forebay {

// Tasks are made anew: each has rows of one block. With several lanes the rows of a block do not stand together in the batch.
void Runner::plan_units(Job& job) {
  const int64_t epoch = job.batch.step().at.epoch;
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> in_lane, block_of;  // the block last met in a lane; that of a row
  block_of.reserve(job.batch.rows().size());
  int64_t lanes = 1;
  for (const Row& row : job.batch.step().rows) {
    const int64_t position = row.position;
    const auto lane = static_cast<size_t>(lanes == 1 ? 0 : position % lanes);
    uint32_t known = lane < in_lane.size() ? in_lane[lane] : kNone;
    if (known == kNone || position < job.blocks[known]->range.first || position > job.blocks[known]->last_position()) {
      const UnitBlockPtr block = units_->block_at(epoch, position);
      lanes = block->range.step;
      in_lane.resize(static_cast<size_t>(lanes), kNone);
      auto at = std::find(job.blocks.begin(), job.blocks.end(), block);
      if (at == job.blocks.end()) at = job.blocks.insert(at, block);
      job.straddles |= known != kNone;
      known = static_cast<uint32_t>(at - job.blocks.begin());
      in_lane[static_cast<size_t>(position % lanes)] = known;
    }
    block_of.push_back(known);
  }
  const bool sorted = std::is_sorted(block_of.begin(), block_of.end());
  if (!plan_->units->gathers_rows) {  // a task a row
    for (Task& task : job.tasks) task.block = block_of[static_cast<size_t>(task.begin)];
  } else {
    std::vector<uint32_t> rows(block_of.size());
    std::iota(rows.begin(), rows.end(), 0u);
    if (!sorted) {
      std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return block_of[a] < block_of[b]; });
      job.rows_by_block = rows;
    }
    job.tasks.clear();
    const auto count = static_cast<int64_t>(rows.size());
    for (int64_t begin = 0; begin < count;) {
      const uint32_t block = block_of[rows[static_cast<size_t>(begin)]];
      int64_t end = begin;
      while (end < count && end - begin < rows_per_task_hint_ && block_of[rows[static_cast<size_t>(end)]] == block)
        ++end;
      job.tasks.emplace_back();
      job.tasks.back().begin = begin;
      job.tasks.back().end = end;
      job.tasks.back().block = block;
      begin = end;
    }
  }
  for (Task& task : job.tasks) {
    row_work_.look_up(task, job.batch);
    if (!task.in_cache()) use_block(job, task);
  }
}

void Runner::use_block(Job& job, Task& task) {
  unpin_block(job, task);
  if (!std::exchange(task.uses, true)) units_->add_user(job.block_of(task));
}

void Runner::pin_block(Job& job, Task& task) {
  use_block(job, task);
  task.pins = true;
  for (const auto& unit : job.block_of(task)->units) ++unit->pins;
}

void Runner::unpin_block(Job& job, Task& task) {
  if (!std::exchange(task.pins, false)) return;
  for (const auto& unit : job.block_of(task)->units) --unit->pins;
}

void Runner::leave_block(Job& job, Task& task) {
  unpin_block(job, task);
  if (!std::exchange(task.uses, false)) return;
  UnitTable::Freed freed;
  units_->remove_user(job.block_of(task), freed);
  free_units(freed);
}

void Runner::leave_blocks(Job& job) {
  if (!units_) return;
  for (Task& task : job.tasks) {
    if (task.state != TaskState::kQueued) leave_block(job, task);
  }
}

// Stand-ins come from elsewhere, where nothing of the task's own block will do.
void Runner::widen_block(Job& job, Task& task, const std::vector<int64_t>& ids) {
  reset_task(job, task);
  const UnitBlockPtr wider = units_->widened(*job.block_of(task), ids);
  units_->add_user(wider);  // before the narrower one goes, so that its units stay
  leave_block(job, task);
  task.wider = wider;
  task.uses = true;
}

void Runner::forget_wider(Job& job, Task& task) {
  if (!task.wider) return;
  leave_block(job, task);
  task.wider.reset();
}

bool Runner::block_waits(const Job& job, const Task& task) const {
  return !task.in_cache() && !job.block_of(task)->ready();
}

}  // namespace forebay
