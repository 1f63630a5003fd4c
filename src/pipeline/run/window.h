#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/field_forms.h"
#include "pipeline/run/block_uses.h"
#include "pipeline/run/chunks.h"
#include "pipeline/run/room.h"
#include "pipeline/run/row_tasks.h"
#include "pipeline/run/run_core.h"
#include "pipeline/run/run_trace.h"
#include "pipeline/run/taking_back.h"
#include "pipeline/run/waits.h"
#include "pipeline/run/window_batch.h"

namespace forebay {

/// What the consumer gets.
struct Delivery {
  std::optional<Batch> batch;  ///< nothing: timed out, or no step is left at all
  bool timed_out = false;
  std::vector<RowError> errors;  ///< samples of this batch that were skipped or replaced
};

/// The batches of a run that are being made, a bounded number at once, and behind them those whose samples are only fetched, as far
/// ahead as storage needs to be kept busy. Everything that can be moved on is, oldest first; the oldest task that is not done always
/// gets its bytes.
///
/// It holds the run's lock and lives as long as anything is under way. Except for core(), all methods are called with the lock held.
class Window final : private Advancing {
 public:
  /// Threads come with RunCore::queue; before, nothing can be advanced.
  static std::shared_ptr<Window> make(Engine& engine, std::shared_ptr<const ExecutionPlan> plan,
                                      std::shared_ptr<StepSource> steps, const RunnerOptions& options);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  RunCore& core() { return core_; }
  const RunCore& core() const { return core_; }

  struct Stats {
    int64_t batches = 0, samples = 0;  ///< delivered
  };
  const Stats& stats() const { return stats_; }
  /// How often each chunk of the source was decoded so far; empty where rows are read one by one.
  std::vector<uint32_t> decodes() const { return chunks_ ? chunks_->decodes() : std::vector<uint32_t>(); }

  /// Of the next batch to deliver.
  const Cursor& cursor() const { return cursor_; }
  bool finished() const { return core_.steps->finished(cursor_); }
  /// What the consumer waited for so far.
  const Waits& waits() const { return waits_; }
  /// It begins to wait.
  void consumer_waits();
  /// No batch is being prepared, and none is about to be.
  bool nothing_planned() const { return batches_.empty() && !planning_; }
  /// It waits no more. Gives how long it did, in nanoseconds.
  int64_t consumer_goes_on();
  /// What it waits for, or would.
  Awaited what_is_awaited();
  /// The same as a sentence for the log, with the name of the row or chunk.
  std::string awaited();
  /// Whether deliver() has something to give.
  bool ready() const;
  /// The oldest batch leaves the window. An error of data spoils its batch, which is left behind; any other one leaves the cursor
  /// where it is, so that the batch can be asked for again.
  Result<Delivery> deliver(RunCore::Lock& lock);
  /// Goes on somewhere else; work that does not fit there is thrown away.
  void seek(const Cursor& at);
  /// Gives back everything that is begun.
  void drop();

 private:
  Window(Engine& engine, std::shared_ptr<const ExecutionPlan> plan, std::shared_ptr<StepSource> steps,
         const RunnerOptions& options);

  std::string name_of_oldest();

  // window_advance.cc
  void advance(Actions& actions) override;
  void settled() override;
  void look_at_front();
  bool advance_oldest(Actions& actions);
  bool advance_batch(const WindowBatchPtr& batch, bool* may_start, Actions& actions);
  Step advance_task(const WindowBatchPtr& batch, RowTask& task, bool may_start, Actions& actions);
  bool advance_chunks(Actions& actions);
  void advance_chunks_ahead(Actions& actions);
  bool finish(const WindowBatchPtr& batch, Actions& actions);
  bool put_together(const WindowBatchPtr& batch, Actions& actions);
  using AssemblyStep = std::function<std::optional<Batch>(BatchJob&)>;
  void post_assembly(const WindowBatchPtr& batch, AssemblyStep step, Actions& actions);
  void take(WindowBatch& batch, Result<Batch> made);

  // window_plan.cc
  int64_t batches_ahead() const;
  bool is_short() const;
  /// Large batches are planned by a compute thread: thousands of ids take longer than the consumer, or the lock, should be held up.
  bool plans_elsewhere() const { return core_.steps->batch_size() >= 1024; }
  void extend(Actions& actions);
  void plan_batches();
  WindowBatchPtr begin(StepPlan step) const;
  void add(const WindowBatchPtr& batch);

  RunCore core_;
  const int64_t rows_per_task_;
  WindowBatches batches_;
  const std::unique_ptr<Chunks> chunks_;  // null where rows are read one by one
  const BlockUses uses_;
  const TakingBack taking_back_;
  const Room room_;
  RowTasks tasks_;
  FieldForms forms_;
  Cursor cursor_;               // of the next batch to deliver
  Cursor planned_;              // of the next batch to begin
  uint64_t plans_dropped_ = 0;  // what was being planned before is not wanted
  bool planning_ = false;       // a compute thread plans
  uint64_t sequence_ = 0;
  Stats stats_;
  Waits waits_;
  ConsumerTrace consumer_trace_;
};

}  // namespace forebay
