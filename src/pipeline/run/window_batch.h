#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "pipeline/batch_job.h"
#include "pipeline/chunk_table.h"
#include "pipeline/row_work.h"

namespace forebay {

struct WindowBatch;

/// What a task does with its block of chunks. Each value includes those before it. BlockUses
/// changes it, together with the counters of the block.
enum class BlockUse : uint8_t {
  kNone,
  kUser,    ///< counted in ChunkBlock::users: the chunks are not freed
  kPinned,  ///< counted in Chunk::pins, too: the memory of the chunks is in use
  kReading  ///< counted in Chunk::readers, too: a compute thread reads that memory, or will
};

/// A task: some rows of a batch, usually one, and their state. It lives in its batch's list and is
/// guarded like RowInput.
struct RowTask : RowInput {
  static constexpr uint32_t kNoBlock = UINT32_MAX;

  RowTask(WindowBatch& of, int64_t first, int64_t last) : batch(&of) {
    begin = first;
    end = last;
  }

  WindowBatch* batch;
  // For branches with chunks:
  uint32_t block = kNoBlock;    ///< index in WindowBatch::blocks
  ChunkBlockPtr widened_block;  ///< used in place of `block` if replacements are in other chunks; else null
  BlockUse block_use = BlockUse::kNone;
  Buffer copied;  ///< lists copied out of chunks that the batch outlasts
};

/// Summary of the states of a batch's tasks. The window examines its batches again and again, and
/// skips with it tasks that cannot move. The states are in the tasks; code that changes one of them
/// reports it here. The run's lock guards it.
///
/// Invariant: each index below is a bound. It may lag behind the states, so that tasks are examined
/// in vain, but it never makes the window skip a task that can move.
class TaskSummary {
 public:
  /// Number of tasks that are Ready.
  size_t done() const { return done_; }
  /// Number of tasks that are Running.
  size_t running() const { return running_; }
  /// All tasks before this index are Ready. Only oldest() moves it forward, and only the revocation
  /// of the batch moves it back.
  size_t first_unfinished() const { return first_unfinished_; }
  /// No task before this index is Waiting for a read. A task before it may be Waiting if its cache
  /// entry is in memory, since RowTasks::fetch_ahead() passes such tasks over.
  size_t first_waiting() const { return first_waiting_; }
  /// All tasks from this index on are Waiting. It never moves back.
  size_t started_end() const { return started_end_; }

  void on_start(size_t index) { started_end_ = std::max(started_end_, index + 1); }
  void on_waiting(size_t index) { first_waiting_ = std::min(first_waiting_, index); }
  /// The task needs no start now. It counts only if no earlier task is Waiting.
  void pass_waiting(size_t index) { first_waiting_ += index == first_waiting_ ? 1 : 0; }
  void on_running() { ++running_; }
  void on_stopped() { --running_; }
  void on_ready() { ++done_; }
  void set_first_unfinished(size_t index) { first_unfinished_ = index; }
  /// All tasks are Waiting again, which on_waiting() has reported.
  void on_batch_revoked() { done_ = first_unfinished_ = 0; }

 private:
  size_t done_ = 0, running_ = 0;
  size_t first_unfinished_ = 0, first_waiting_ = 0, started_end_ = 0;
};

/// Rows of a batch that may be in one task.
struct TaskGroup {
  uint16_t branch = 0;
  uint32_t block = RowTask::kNoBlock;  ///< index in WindowBatch::blocks
  int64_t rows_per_task = 1;
  /// The source copies the rows itself (BranchPlan::gathers_only()). Such groups may share a task:
  /// a few rows of each of many parts are not worth a task each.
  bool gathers = false;
};

/// The groups of the branches, by number: `rows_per_task` is the largest size of a task of each.
std::vector<TaskGroup> groups_of(const ExecutionPlan& plan, std::span<const int64_t> rows_per_task);

/// A batch of the window, or a later one whose samples are fetched ahead: its memory, and its rows
/// divided into tasks. The window owns it; compute threads and user code that work for it share it
/// until they have ended. Guarded by the run's lock, except for the rows of a Running task (see
/// BatchJob).
struct WindowBatch : std::enable_shared_from_this<WindowBatch> {
  /// Divides the rows into tasks by branch. `groups`: those of the branches.
  WindowBatch(const ExecutionPlan& plan, StepPlan step, std::span<const TaskGroup> groups);
  /// Divides the rows into tasks of one group, or of several that gather, and discards all other
  /// tasks. The rows of a branch are next to each other in a task. `group_of_row` has an
  /// index into `groups` for each row; if it is empty, all rows are of the first group.
  void make_tasks(std::span<const TaskGroup> groups, const std::vector<uint32_t>& group_of_row);

  BatchJob job;
  uint64_t sequence = 0;
  int64_t begun_ns = 0;
  std::vector<RowTask> tasks;
  std::vector<ChunkBlockPtr> blocks;  ///< blocks of its rows, the oldest first in each lane
  /// Rows sorted by group. The tasks' rows are indices into it. Empty if the rows are sorted
  /// already.
  std::vector<uint32_t> sorted_rows;
  bool crosses_blocks = false;  ///< it has several blocks of one lane; the older is released early
  TaskSummary summary;          ///< of the states of `tasks`
  bool revoking = false;        ///< it is revoked as soon as no compute thread works on it
  bool dropped = false;         ///< it was removed from the window
  /// Its error says that storage was unavailable to a compute thread. It starts again once it is
  /// due, because storage may be available by then.
  bool retry_when_due = false;
  /// RowWork::arrivals() when its replayed samples were last looked up.
  std::optional<uint64_t> last_retry_at = {};
  bool due = false;    ///< it is delivered next, and mark_front_due() has seen it
  int assembling = 0;  ///< number of its assembly tasks that have not ended
  /// `made` is set, and functions on whole batches may have to run.
  bool assembled = false;
  size_t next_function = 0;  ///< index of the batch stage that runs, or runs next
  uint64_t call_ticket = 0;  ///< of the call of that function; 0 if there is none
  bool complete = false;     ///< `made` can be delivered, or it has an error
  std::optional<Batch> made;

  int64_t size() const { return static_cast<int64_t>(job.rows().size()); }
  /// Whether nothing can be done for the batch now.
  bool is_inactive() const { return revoking || complete || assembled || assembling > 0; }
  bool all_done() const { return summary.done() == tasks.size(); }
  /// The oldest task that is not Ready. There must be one.
  RowTask& oldest();
  /// Makes the task Waiting. The caller has released its data.
  void make_waiting(RowTask& task);
  size_t index_of(const RowTask& task) const { return static_cast<size_t>(&task - tasks.data()); }
  /// Order of a task among all tasks of the run. The smallest goes first.
  uint64_t order(size_t task) const { return sequence << 24 | task; }
  /// Order of what is done with the whole batch: after its own rows, and before those of younger
  /// batches.
  uint64_t order_of_whole() const { return order_of_row(0); }
  /// The same, of a row of the assembled batch.
  uint64_t order_of_row(size_t row) const { return order(tasks.size() + row); }
  /// Only for tasks with a block.
  const ChunkBlockPtr& block_of(const RowTask& task) const {
    return task.widened_block ? task.widened_block : blocks[task.block];
  }
  /// Whether the task has rows of chunks.
  bool has_block(const RowTask& task) const { return task.block != RowTask::kNoBlock; }
  /// Whether the task's block is released before the batch is done. For replayed samples this makes
  /// memory for one chunk at a time enough.
  bool releases_block_early(const RowTask& task) const {
    return has_block(task) && (crosses_blocks || block_of(task)->replayed);
  }
  RowPlacement placement(const RowTask& task) const {
    return {has_block(task) ? block_of(task).get() : nullptr, sorted_rows, releases_block_early(task)};
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
