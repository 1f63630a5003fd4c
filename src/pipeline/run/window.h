#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/run/batch_calls.h"
#include "pipeline/run/block_uses.h"
#include "pipeline/run/chunks.h"
#include "pipeline/run/reclaimer.h"
#include "pipeline/run/revocation.h"
#include "pipeline/run/row_tasks.h"
#include "pipeline/run/run_core.h"
#include "pipeline/run/run_trace.h"
#include "pipeline/run/waits.h"
#include "pipeline/run/window_batch.h"

namespace forebay {

/// The answer to a request of the consumer.
struct Delivery {
  std::optional<Batch> batch;  ///< nothing on time-out, or if no step is left
  bool timed_out = false;
  std::vector<RowError> errors;  ///< samples of this batch that were skipped or replaced
};

/// The batches of a run that are being made. A bounded number of batches is processed at once. For
/// the batches after them samples are only fetched, as far ahead as is needed to keep storage busy.
/// The window moves on everything that can be moved, oldest first.
///
/// Invariant: the oldest task that is not done always gets its memory, so that the run never
/// deadlocks.
///
/// The window owns all parts of the run and its lock, and lives as long as anything is in flight.
/// All methods except core() are called with the lock held.
class Window final : private Advancing {
 public:
  /// Nothing advances before RunCore::queue is set.
  static std::shared_ptr<Window> make(Engine& engine, ExecutionPlan plan, std::shared_ptr<StepSource> steps,
                                      const RunnerOptions& options);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  RunCore& core() { return core_; }
  const RunCore& core() const { return core_; }

  struct Stats {
    int64_t batches = 0, samples = 0;     ///< delivered
    std::vector<int64_t> branch_samples;  ///< the same samples by branch, if there are several
  };
  const Stats& stats() const { return stats_; }
  /// How often each chunk of the sources was decoded so far, branch by branch. Empty if rows are
  /// read one by one.
  std::vector<uint32_t> decodes() const;

  /// The place of the next batch to deliver.
  const Cursor& cursor() const { return cursor_; }
  bool finished() const { return core_.steps->finished(cursor_); }
  /// The waits of the consumer so far.
  const Waits& waits() const { return waits_; }
  /// Called when the consumer begins to wait for a batch.
  void begin_consumer_wait();
  /// Whether no batch is being prepared or planned.
  bool nothing_planned() const { return batches_.empty() && !planning_; }
  /// Called when the wait ends. Returns its length in nanoseconds.
  int64_t end_consumer_wait();
  /// The reason why the consumer waits, or would wait.
  Awaited what_is_awaited();
  /// Like what_is_awaited(), as a sentence for the log with the name of the row or chunk.
  std::string awaited();
  /// Whether deliver() can deliver a batch, an error, or the end of the run.
  bool ready() const;
  /// Removes the oldest batch from the window and delivers it. After a data error the cursor is
  /// past the batch that has the error. After any other error it stays, so that the batch can be
  /// asked for again.
  Result<Delivery> deliver(RunCore::Lock& lock);
  /// Continues at another place. All work for the former place is dropped.
  void seek(const Cursor& at);
  /// Revokes and removes all batches.
  void revoke_all();

 private:
  Window(Engine& engine, ExecutionPlan plan, std::shared_ptr<StepSource> steps, const RunnerOptions& options);

  Result<Delivery> take_result(WindowBatch& batch);
  std::string name_of_oldest();
  ChunksByBranch make_chunks(Engine& engine);

  // window_advance.cc
  void advance(Actions& actions) override;
  void on_state_changed() override;
  void mark_front_due();
  bool advance_oldest(Actions& actions);
  void advance_batches(Actions& actions);
  /// One pass over the batches of the window.
  struct Pass {
    Actions& actions;
    bool may_start = true;  ///< Waiting tasks may start; false once one has found no request slot
  };
  bool advance_batch(const WindowBatchPtr& batch, Pass& pass);
  bool advance_task(const WindowBatchPtr& batch, size_t index, Pass& pass);
  AdvanceResult move_task(const WindowBatchPtr& batch, RowTask& task, bool may_start, Actions& actions);
  bool advance_chunks(Actions& actions);
  bool advance_block(const WindowBatch& batch, const ChunkBlock& block, MemoryReclaimer* others, Actions& actions);
  void advance_chunks_ahead(Actions& actions);
  const WindowBatch* last_batch_of(size_t branch) const;
  bool assemble(const WindowBatchPtr& batch, Actions& actions);
  bool start_copying(const WindowBatchPtr& batch, Actions& actions);
  using AssemblyStep = std::function<std::optional<Result<Batch>>(BatchJob&)>;
  void post_assembly(const WindowBatchPtr& batch, AssemblyStep step, Actions& actions);
  void finish_rows(WindowBatch& batch, Result<Batch> made);

  // window_plan.cc
  int64_t batches_ahead() const;
  bool needs_batches() const;
  /// Whether a compute thread plans the batches. Planning a large batch takes longer than the
  /// consumer or the lock should be held up.
  bool plans_on_compute_thread() const { return core_.steps->batch_size() >= 1024; }
  /// Plans batches until the window has enough of them.
  void extend(Actions& actions);
  void plan_now();
  void post_planning(Actions& actions);
  void plan_batches();
  WindowBatchPtr make_batch(StepPlan step) const;
  void add(const WindowBatchPtr& batch);

  RunCore core_;
  const std::vector<TaskGroup> groups_;  // by branch
  WindowBatches batches_;
  const ChunksByBranch chunks_;
  const bool has_chunks_, has_user_code_;
  const BlockUses uses_;
  const Revocation revocation_;
  const WindowReclaimer reclaimer_;
  RowTasks tasks_;
  BatchCalls batch_calls_;
  Cursor cursor_;               // of the next batch to deliver
  Cursor planned_;              // of the next batch to begin
  uint64_t plans_dropped_ = 0;  // incremented when plans in progress become stale
  bool planning_ = false;       // a compute thread plans
  uint64_t sequence_ = 0;
  Stats stats_;
  Waits waits_;
  ConsumerTrace consumer_trace_;
};

}  // namespace forebay
