#include "pipeline/run/block_uses.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace forebay {

namespace {

constexpr uint32_t kNoBlock = UINT32_MAX;

bool has_position(const ChunkBlock& block, int64_t position) {
  return position >= block.range.first && position <= block.last_position();
}

}  // namespace

void BlockUses::plan(WindowBatch& batch) const {
  if (chunks_ == nullptr) return;
  const std::vector<uint32_t> block_of_row = find_blocks(batch);
  if (core_.plan->chunks->gathers_rows) {
    make_tasks(batch, block_of_row);
  } else {  // one task for each row
    for (RowTask& task : batch.tasks) task.block = block_of_row[static_cast<size_t>(task.begin)];
  }
  for (RowTask& task : batch.tasks) {
    core_.row_work.look_up(task, batch.job);
    if (!task.bytes.has_entry()) add_user(batch, task);
  }
}

// Returns for each row the index of its block in WindowBatch::blocks, and adds the blocks there.
std::vector<uint32_t> BlockUses::find_blocks(WindowBatch& batch) const {
  const StepPlan& step = batch.job.step();
  std::vector<uint32_t> block_of_row;
  block_of_row.reserve(step.rows.size());
  LaneBlocks lanes;
  BlocksByChunk replayed_blocks;
  for (size_t row = 0; row < step.rows.size(); ++row) {
    if (!step.replayed.empty() && step.is_replayed(static_cast<int64_t>(row))) {
      block_of_row.push_back(block_of_replayed(batch, batch.job.rows()[row].id, replayed_blocks));
    } else {
      block_of_row.push_back(block_of_position(batch, step.rows[row].position, lanes));
    }
  }
  return block_of_row;
}

// Returns the index of the block that has the position. With several lanes the rows of a block are
// not adjacent in the batch, so the latest block of each lane is tried before the table is
// searched.
uint32_t BlockUses::block_of_position(WindowBatch& batch, int64_t position, LaneBlocks& lanes) const {
  const auto lane = static_cast<size_t>(lanes.count == 1 ? 0 : position % lanes.count);
  const uint32_t latest = lane < lanes.latest.size() ? lanes.latest[lane] : kNoBlock;
  if (latest != kNoBlock && has_position(*batch.blocks[latest], position)) return latest;
  const ChunkBlockPtr block = chunks_->table().block_at(batch.job.step().at.epoch, position);
  const auto at = std::find(batch.blocks.begin(), batch.blocks.end(), block);
  const auto index = static_cast<uint32_t>(at - batch.blocks.begin());
  if (at == batch.blocks.end()) batch.blocks.push_back(block);
  // The lane has moved on within the batch, so its older block is not needed until the end.
  batch.crosses_blocks |= latest != kNoBlock;
  lanes.count = block->range.step;
  lanes.latest.resize(static_cast<size_t>(lanes.count), kNoBlock);
  lanes.latest[static_cast<size_t>(position % lanes.count)] = index;
  return index;
}

// Returns the index of the block of a replayed sample. Each of their chunks has a block of its own,
// so that it can be freed while other chunks are still awaited.
uint32_t BlockUses::block_of_replayed(WindowBatch& batch, int64_t id, BlocksByChunk& known) const {
  const int64_t chunk = chunks_->table().chunk_of(id);
  const auto [at, is_new] = known.try_emplace(chunk, static_cast<uint32_t>(batch.blocks.size()));
  if (is_new) batch.blocks.push_back(chunks_->table().block_of_replayed(chunk));
  return at->second;
}

// Divides rows that are gathered from chunks into tasks of one block each.
void BlockUses::make_tasks(WindowBatch& batch, const std::vector<uint32_t>& block_of_row) const {
  std::vector<uint32_t> rows(block_of_row.size());
  std::iota(rows.begin(), rows.end(), 0u);
  if (!std::is_sorted(block_of_row.begin(), block_of_row.end())) {
    // The sort is stable, so that rows of one block keep the batch's order and memory is written
    // forward.
    std::stable_sort(rows.begin(), rows.end(),
                     [&](uint32_t a, uint32_t b) { return block_of_row[a] < block_of_row[b]; });
    batch.rows_by_block = rows;
  }
  batch.tasks.clear();
  const auto block_at = [&](int64_t index) { return block_of_row[rows[static_cast<size_t>(index)]]; };
  const auto count = static_cast<int64_t>(rows.size());
  for (int64_t begin = 0, end = 0; begin < count; begin = end) {
    while (end < count && end - begin < rows_per_task_ && block_at(end) == block_at(begin)) ++end;
    batch.tasks.emplace_back(batch, begin, end);
    batch.tasks.back().block = block_at(begin);
  }
}

void BlockUses::add_user(const WindowBatch& batch, RowTask& task) const {
  if (chunks_ == nullptr) return;
  unpin(batch, task);
  if (task.block_use == BlockUse::kUser) return;
  chunks_->table().add_user(batch.block_of(task));
  task.block_use = BlockUse::kUser;
}

void BlockUses::pin(const WindowBatch& batch, RowTask& task) const {
  if (chunks_ == nullptr || task.bytes.has_entry()) return;
  add_user(batch, task);
  task.block_use = BlockUse::kReading;
  for (const auto& chunk : batch.block_of(task)->chunks) {
    ++chunk->pins;
    ++chunk->readers;
  }
}

void BlockUses::done_reading(const WindowBatch& batch, RowTask& task) {
  if (task.block_use != BlockUse::kReading) return;
  task.block_use = BlockUse::kPinned;
  for (const auto& chunk : batch.block_of(task)->chunks) --chunk->readers;
}

void BlockUses::unpin(const WindowBatch& batch, RowTask& task) {
  done_reading(batch, task);
  if (task.block_use != BlockUse::kPinned) return;
  task.block_use = BlockUse::kUser;
  for (const auto& chunk : batch.block_of(task)->chunks) --chunk->pins;
}

void BlockUses::release(const WindowBatch& batch, RowTask& task) const {
  unpin(batch, task);
  if (std::exchange(task.block_use, BlockUse::kNone) == BlockUse::kUser) chunks_->remove_user(batch.block_of(task));
}

void BlockUses::release_all(WindowBatch& batch) const {
  if (chunks_ == nullptr) return;
  for (RowTask& task : batch.tasks) {
    if (!task.is<RowTask::Running>()) release(batch, task);
  }
}

void BlockUses::widen(const WindowBatch& batch, RowTask& task, const std::vector<int64_t>& ids) const {
  const ChunkBlockPtr widened_block = chunks_->table().widened(*batch.block_of(task), ids);
  // Added before the narrower block is released, so that shared chunks stay.
  chunks_->table().add_user(widened_block);
  release(batch, task);
  task.widened_block = widened_block;
  task.block_use = BlockUse::kUser;
}

// Only chunks that are Waiting are given up. Reads in flight are used.
void BlockUses::retry_lookups(WindowBatch& batch) const {
  const StepPlan& step = batch.job.step();
  if (core_.plan->keyed.empty() || step.replayed.empty()) return;
  // Read before the look-ups, so that entries that arrive meanwhile are found next time.
  if (const uint64_t arrivals = core_.row_work.arrivals(); std::exchange(batch.last_retry_at, arrivals) == arrivals)
    return;
  for (size_t i = step.replayed_at; i < step.replayed_at + step.replayed.size(); ++i) {
    RowTask& task = batch.tasks[i];  // one task for each row
    if (!task.is<RowTask::Waiting>() || task.block_use == BlockUse::kNone || task.bytes.has_entry()) continue;
    if (!batch.block_of(task)->chunks.front()->is<Chunk::Waiting>()) continue;
    if (!core_.row_work.retry_lookup(task, batch.job)) continue;
    task.bytes.looked_up = true;
    release(batch, task);
  }
}

void BlockUses::undo_widen(const WindowBatch& batch, RowTask& task) const {
  if (!task.widened_block) return;
  release(batch, task);
  task.widened_block.reset();
}

}  // namespace forebay
