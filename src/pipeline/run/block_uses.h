#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pipeline/run/chunks.h"
#include "pipeline/run/window_batch.h"

namespace forebay {

/// Which blocks of chunks the tasks of a batch need, and for how long: a task uses its block until its rows are no longer of
/// interest, and pins it while somebody looks, or will, into memory of its chunks. Guarded by the run's lock. Without chunks nothing
/// is used, and nothing waits.
class BlockUses {
 public:
  /// `chunks`: null where rows are read one by one.
  BlockUses(RunCore& core, Chunks* chunks, int64_t rows_per_task)
      : core_(core), chunks_(chunks), rows_per_task_(rows_per_task) {}

  /// Divides a new batch into tasks so that each has rows of one block, and uses these blocks.
  void plan(WindowBatch& batch) const;
  /// Uses the task's block and does not pin it.
  void use(const WindowBatch& batch, RowTask& task) const;
  /// A compute thread will look into it; and has.
  void pin(const WindowBatch& batch, RowTask& task) const;
  static void looked(const WindowBatch& batch, RowTask& task);
  void leave(const WindowBatch& batch, RowTask& task) const;
  /// The same for all tasks but those that run.
  void leave_all(WindowBatch& batch) const;
  /// From now on the task's block has the chunks of some other rows, too: for replacements that are in none of its own.
  void widen(const WindowBatch& batch, RowTask& task, const std::vector<int64_t>& ids) const;
  /// No more.
  void forget_wider(const WindowBatch& batch, RowTask& task) const;
  /// Old samples whose row groups nobody has asked for yet: what was made of them may be kept by now, and then these are not needed.
  void look_again(WindowBatch& batch) const;
  /// Whether the task's block is not ready. What runs waits for nothing, and a compute thread may find meanwhile that it needs no block.
  bool waits(const WindowBatch& batch, const RowTask& task) const {
    return chunks_ != nullptr && !task.is<RowTask::Running>() && !task.entry.in_cache() &&
           !batch.block_of(task)->ready();
  }

 private:
  using BlocksByChunk = std::unordered_map<int64_t, uint32_t>;
  std::vector<uint32_t> find_blocks(WindowBatch& batch) const;
  uint32_t block_of_old(WindowBatch& batch, int64_t id, BlocksByChunk& known) const;
  void make_tasks(WindowBatch& batch, const std::vector<uint32_t>& block_of_row) const;
  static void unpin(const WindowBatch& batch, RowTask& task);

  RunCore& core_;
  Chunks* const chunks_;
  const int64_t rows_per_task_;
};

}  // namespace forebay
