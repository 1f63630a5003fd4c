#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pipeline/run/chunks.h"
#include "pipeline/run/window_batch.h"

namespace forebay {

/// The chunks of each branch of a run; null for branches whose rows are read one by one.
using ChunksByBranch = std::vector<std::unique_ptr<Chunks>>;

/// Tracks which blocks of chunks the tasks of a batch need. A task uses its block as long as the
/// batch needs the chunks, so that they are not freed. It pins the block while a compute thread or
/// the batch refers to the memory of the chunks. The window owns it; the run's lock guards it. Rows
/// of branches without chunks use no block.
class BlockUses {
 public:
  /// `groups`: those of the branches. All outlive this object.
  BlockUses(RunCore& core, const ChunksByBranch& chunks, std::span<const TaskGroup> groups);

  /// Divides a new batch into tasks so that each has rows of one block, and uses these blocks.
  void plan(WindowBatch& batch) const;
  /// Makes the task a user of its block, without a pin.
  void add_user(const WindowBatch& batch, RowTask& task) const;
  /// Pins the task's block before the task is posted to a compute thread.
  void pin(const WindowBatch& batch, RowTask& task) const;
  /// Called when the compute thread is done. The pin remains, since the batch may refer to the
  /// chunks.
  static void done_reading(const WindowBatch& batch, RowTask& task);
  /// Ends the task's use of its block and its pin.
  void release(const WindowBatch& batch, RowTask& task) const;
  /// Calls release() for all tasks that are not Running.
  void release_all(WindowBatch& batch) const;
  /// Adds the chunks of rows `ids` to the task's block, for replacements from other chunks.
  void widen(const WindowBatch& batch, RowTask& task, const std::vector<int64_t>& ids) const;
  /// Undoes widen().
  void undo_widen(const WindowBatch& batch, RowTask& task) const;
  /// Looks up again the replayed samples whose chunks have not been requested yet. If an entry has
  /// arrived since, the task does not need its chunk any more.
  void retry_lookups(WindowBatch& batch) const;
  /// Whether the task waits for its block. A Running task never does: its compute thread may set
  /// `bytes.entry` meanwhile, so the state is checked first.
  bool awaits_block(const WindowBatch& batch, const RowTask& task) const {
    return batch.has_block(task) && !task.is<RowTask::Running>() && !task.bytes.has_entry() &&
           !batch.block_of(task)->ready();
  }

 private:
  class Grouping;
  ChunkTable& table_of(const ChunkBlock& block) const { return chunks_[block.branch]->table(); }
  static void unpin(const WindowBatch& batch, RowTask& task);

  RunCore& core_;
  const ChunksByBranch& chunks_;
  const std::span<const TaskGroup> groups_;  // by branch
  bool has_chunks_ = false;
};

}  // namespace forebay
