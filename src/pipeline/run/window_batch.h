#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "pipeline/batch_job.h"
#include "pipeline/chunk_table.h"
#include "pipeline/row_work.h"

namespace forebay {

struct WindowBatch;

/// A task: some rows of a batch, usually one, and their state.
struct RowTask : RowInput {
  RowTask(WindowBatch& of, int64_t first, int64_t last) : batch(&of) {
    begin = first;
    end = last;
  }

  WindowBatch* batch;
  // For plans with chunks:
  size_t block = 0;               ///< index in WindowBatch::blocks
  ChunkBlockPtr wider;            ///< replaces that block if replacements are in other chunks
  bool uses = false;              ///< counted in ChunkBlock::users
  bool pins = false;              ///< counted in Chunk::pins
  bool counts_as_reader = false;  ///< counted in Chunk::readers
  Buffer copied;                  ///< lists copied out of chunks that the batch outlasts
};

/// A batch of the window, or a later one whose samples are fetched ahead: its memory, and its rows
/// divided into tasks. Guarded by the run's lock.
struct WindowBatch : std::enable_shared_from_this<WindowBatch> {
  /// Divides the rows into tasks of `rows_per_task` rows.
  WindowBatch(const ExecutionPlan& plan, const Itinerary& itinerary, StepPlan step, int64_t rows_per_task);

  BatchJob job;
  uint64_t sequence = 0;
  int64_t begun_ns = 0;
  std::vector<RowTask> tasks;
  std::vector<ChunkBlockPtr> blocks;  ///< blocks of its rows, the oldest first in each lane
  /// Rows sorted by block. The tasks' rows are indices into it. Empty if the rows are sorted
  /// already.
  std::vector<uint32_t> rows_by_block;
  bool crosses_blocks = false;  ///< it has several blocks of one lane; the older is released early
  size_t done = 0;              ///< number of tasks that are Ready
  size_t first = 0;             ///< all tasks before this one are Ready
  size_t waiting_from = 0;      ///< no task before this one is Waiting
  size_t untouched = 0;         ///< all tasks from this one on are Waiting
  size_t running = 0;           ///< number of tasks that are Running
  bool revoking = false;        ///< it is revoked as soon as no compute thread works on it
  bool dropped = false;         ///< it was removed from the window
  bool retry_when_due = false;  ///< its error says that storage was unavailable to a compute thread
  /// RowWork::arrivals() when its replayed samples were last looked up.
  std::optional<uint64_t> looked_again_at = {};
  bool due = false;       ///< it is delivered next, and mark_front_due() has seen it
  int assembling = 0;     ///< number of its assembly tasks that have not ended
  bool complete = false;  ///< `made` is set, or it has an error
  std::optional<Batch> made;

  int64_t size() const { return static_cast<int64_t>(job.rows().size()); }
  /// Whether nothing can be done for the batch now.
  bool is_inactive() const { return revoking || complete || assembling > 0; }
  bool all_done() const { return done == tasks.size(); }
  /// The oldest task that is not Ready. There must be one.
  RowTask& oldest();
  /// Makes the task Waiting. The caller has released its data.
  void wait(RowTask& task);
  size_t index_of(const RowTask& task) const { return static_cast<size_t>(&task - tasks.data()); }
  /// Order of a task among all tasks of the run. The smallest goes first.
  uint64_t order(size_t task) const { return sequence << 24 | task; }
  const ChunkBlockPtr& block_of(const RowTask& task) const { return task.wider ? task.wider : blocks[task.block]; }
  /// Whether the task's block is released before the batch is done. For replayed samples this makes
  /// memory for one chunk at a time enough.
  bool releases_block_early(const RowTask& task) const {
    return crosses_blocks || (!blocks.empty() && block_of(task)->replayed);
  }
  RowPlacement placement(const RowTask& task) const {
    return {blocks.empty() ? nullptr : block_of(task).get(), rows_by_block, releases_block_early(task)};
  }
};
using WindowBatchPtr = std::shared_ptr<WindowBatch>;

/// The batches that have begun, in the order of their delivery.
using WindowBatches = std::deque<WindowBatchPtr>;
bool is_front(const WindowBatches& batches, const WindowBatch& batch);
/// Whether that task is the oldest of the run that is not done. A null `task` means the assembly of
/// the batch, which is the oldest once all tasks of the front batch are done.
bool is_oldest(const WindowBatches& batches, const WindowBatch& batch, const RowTask* task);

}  // namespace forebay
