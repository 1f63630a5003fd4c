#include "pipeline/run/block_uses.h"

#include <algorithm>
#include <map>
#include <utility>

namespace forebay {

namespace {

bool has_position(const ChunkBlock& block, int64_t position) {
  return position >= block.range.first && position <= block.last_position();
}

}  // namespace

// Finds the groups of a batch's rows: one for each block of chunks, and one for each branch without
// chunks.
class BlockUses::Grouping {
 public:
  Grouping(const BlockUses& uses, WindowBatch& batch)
      : uses_(uses), batch_(batch), lanes_(uses.chunks_.size()), unchunked_(uses.chunks_.size(), kNone) {}

  void add(const Row& row) { group_of_row_.push_back(group_of(row)); }
  const std::vector<TaskGroup>& groups() const { return groups_; }
  const std::vector<uint32_t>& group_of_row() const { return group_of_row_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct LaneBlocks {
    int64_t count = 1;             // lanes of the branch; known once its first block was found
    std::vector<uint32_t> latest;  // by lane: the group of the block that was found last, or kNone
  };

  uint32_t group_of(const Row& row) {
    if (uses_.chunks_[row.branch] == nullptr) {
      uint32_t& group = unchunked_[row.branch];
      if (group == kNone) group = add_group(row.branch, RowTask::kNoBlock);
      return group;
    }
    return row.replayed ? group_of_replayed(row) : group_of_place(row);
  }

  // With several lanes the rows of a block are not adjacent in the batch, so the latest block of
  // each lane is tried before the table is searched.
  uint32_t group_of_place(const Row& row) {
    LaneBlocks& lanes = lanes_[row.branch];
    const auto lane = static_cast<size_t>(lanes.count == 1 ? 0 : row.place % lanes.count);
    const uint32_t latest = lane < lanes.latest.size() ? lanes.latest[lane] : kNone;
    if (latest != kNone) {
      const ChunkBlock& block = *batch_.blocks[groups_[latest].block];
      if (block.epoch == row.pass && has_position(block, row.place)) return latest;
    }
    const ChunkBlockPtr block = uses_.chunks_[row.branch]->table().block_at(row.pass, row.place);
    const uint32_t group = group_of_block(row.branch, block);
    // The lane has moved on within the batch, so its older block is not needed until the end.
    batch_.crosses_blocks |= latest != kNone;
    lanes.count = block->range.step;
    lanes.latest.resize(static_cast<size_t>(lanes.count), kNone);
    lanes.latest[static_cast<size_t>(row.place % lanes.count)] = group;
    return group;
  }

  // Each chunk of replayed samples has a block of its own, so that it can be freed while other
  // chunks are still awaited.
  uint32_t group_of_replayed(const Row& row) {
    const ChunkTable& table = uses_.chunks_[row.branch]->table();
    const int64_t chunk = table.chunk_of(row.id);
    const auto [at, is_new] = replayed_.try_emplace({row.branch, chunk}, kNone);
    if (is_new) at->second = group_of_block(row.branch, table.block_of_replayed(chunk));
    return at->second;
  }

  uint32_t group_of_block(uint16_t branch, const ChunkBlockPtr& block) {
    for (size_t group = 0; group < groups_.size(); ++group) {
      if (groups_[group].block != RowTask::kNoBlock && batch_.blocks[groups_[group].block] == block)
        return static_cast<uint32_t>(group);
    }
    batch_.blocks.push_back(block);
    return add_group(branch, static_cast<uint32_t>(batch_.blocks.size() - 1));
  }

  uint32_t add_group(uint16_t branch, uint32_t block) {
    groups_.push_back(uses_.groups_[branch]);
    groups_.back().block = block;
    return static_cast<uint32_t>(groups_.size() - 1);
  }

  const BlockUses& uses_;
  WindowBatch& batch_;
  std::vector<TaskGroup> groups_;
  std::vector<uint32_t> group_of_row_;
  std::vector<LaneBlocks> lanes_;    // by branch
  std::vector<uint32_t> unchunked_;  // by branch: its group
  std::map<std::pair<uint16_t, int64_t>, uint32_t> replayed_;
};

BlockUses::BlockUses(RunCore& core, const ChunksByBranch& chunks, std::span<const TaskGroup> groups)
    : core_(core), chunks_(chunks), groups_(groups),
      has_chunks_(std::ranges::any_of(chunks, [](const auto& one) { return one != nullptr; })) {}

void BlockUses::plan(WindowBatch& batch) const {
  if (!has_chunks_) return;
  Grouping grouping(*this, batch);
  for (const Row& row : batch.job.step().rows) grouping.add(row);
  batch.make_tasks(grouping.groups(), grouping.group_of_row());
  for (RowTask& task : batch.tasks) {
    if (!batch.has_block(task)) continue;
    core_.row_work(task.branch).look_up(task, batch.job);
    if (!task.bytes.has_entry()) add_user(batch, task);
  }
}

void BlockUses::add_user(const WindowBatch& batch, RowTask& task) const {
  if (!batch.has_block(task)) return;
  unpin(batch, task);
  if (task.block_use == BlockUse::kUser) return;
  table_of(*batch.block_of(task)).add_user(batch.block_of(task));
  task.block_use = BlockUse::kUser;
}

void BlockUses::pin(const WindowBatch& batch, RowTask& task) const {
  if (!batch.has_block(task) || task.bytes.has_entry()) return;
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
  if (std::exchange(task.block_use, BlockUse::kNone) != BlockUse::kUser) return;
  const ChunkBlockPtr block = batch.block_of(task);
  chunks_[block->branch]->remove_user(block);
}

void BlockUses::release_all(WindowBatch& batch) const {
  if (batch.blocks.empty()) return;
  for (RowTask& task : batch.tasks) {
    if (!task.is<RowTask::Running>()) release(batch, task);
  }
}

void BlockUses::widen(const WindowBatch& batch, RowTask& task, const std::vector<int64_t>& ids) const {
  ChunkTable& table = table_of(*batch.block_of(task));
  const ChunkBlockPtr widened_block = table.widened(*batch.block_of(task), ids);
  // Added before the narrower block is released, so that shared chunks stay.
  table.add_user(widened_block);
  release(batch, task);
  task.widened_block = widened_block;
  task.block_use = BlockUse::kUser;
}

// Only chunks that are Waiting are given up. Reads in flight are used.
void BlockUses::retry_lookups(WindowBatch& batch) const {
  // Read before the look-ups, so that entries that arrive meanwhile are found next time.
  uint64_t arrivals = 0;
  for (const RowWork& work : core_.row_works) arrivals += work.arrivals();
  if (arrivals == 0 || std::exchange(batch.last_retry_at, arrivals) == arrivals) return;
  for (RowTask& task : batch.tasks) {
    if (!batch.job.planned(task.first_row).replayed || !batch.has_block(task)) continue;
    if (!task.is<RowTask::Waiting>() || task.block_use == BlockUse::kNone || task.bytes.has_entry()) continue;
    if (!batch.block_of(task)->chunks.front()->is<Chunk::Waiting>()) continue;
    if (!core_.row_work(task.branch).retry_lookup(task, batch.job)) continue;
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
