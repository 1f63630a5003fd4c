#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "pipeline/run/block_uses.h"
#include "pipeline/run/element_reads.h"
#include "pipeline/run/reclaimer.h"
#include "pipeline/run/revocation.h"
#include "pipeline/run/run_core.h"
#include "pipeline/run/window_batch.h"

namespace forebay {

/// Moves tasks through their states: a task waits for memory, its sample is fetched, and it runs on
/// compute threads and in user code until its rows are written into the batch. The window decides
/// which task moves next and calls start() and compute(); results return on threads of stores,
/// compute threads and threads of user code, which take the run's lock. The window owns it; that
/// lock guards it.
class RowTasks final : private ElementReads {
 public:
  RowTasks(RunCore& core, const BlockUses& uses, const Revocation& revocation, const WindowReclaimer& reclaimer,
           const WindowBatches& batches)
      : ElementReads(core, /*samples=*/1), uses_(uses), revocation_(revocation), reclaimer_(reclaimer),
        batches_(batches) {}

  enum class Start : uint8_t {
    kFull,      ///< the task may use all resources of the run
    kReadOnly,  ///< the task is only read, with the memory set aside for reading ahead
  };
  /// Starts a task that is Waiting. If it can be started, it becomes Reading, Runnable (if it needs
  /// no asynchronous read), InUserCode, or AwaitingEntry. With kReadOnly a task that needs no read
  /// stays Waiting.
  AdvanceResult start(const WindowBatchPtr& batch, RowTask& task, Actions& actions, Start how = Start::kFull);
  /// Makes the oldest task of the run Waiting again if it awaits a flight that is paused. Such a
  /// flight depends on the resources of another loader, for which the oldest task must not wait.
  void recheck_awaited(const WindowBatchPtr& batch, RowTask& task) const;
  /// Posts a task that is Runnable to a compute thread.
  AdvanceResult compute(const WindowBatchPtr& batch, RowTask& task, Actions& actions);
  /// Starts reads for the tasks of a batch after the window, with the memory set aside for reading
  /// ahead. Returns false if younger batches cannot start any either.
  bool fetch_ahead(const WindowBatchPtr& batch, Actions& actions);

 private:
  class Call;

  bool claim_entry(const WindowBatchPtr& batch, RowTask& task);
  bool await_flight(const WindowBatchPtr& batch, RowTask& task, SingleFlight::Wait what);
  bool makes_whole_entry(const RowTask& task) const;
  bool bypass_paused_flight(const WindowBatchPtr& batch, RowTask& task) const;
  void on_flight_ended(WindowBatch& batch, size_t index, uint64_t ticket);
  void pause_flight(RowTask& task) const;
  AdvanceResult start_with_all_resources(const WindowBatchPtr& batch, RowTask& task, Actions& actions);
  AdvanceResult start_read(const WindowBatchPtr& batch, RowTask& task, Actions& actions);
  AdvanceResult start_read_ahead(const WindowBatchPtr& batch, RowTask& task, Actions& actions);
  bool reserve_slots(WindowBatch& batch, const RowTask& task) const;
  enum class ReadOn : uint8_t {
    kComputeThread,  ///< the thread that runs the task reads the bytes, unless they are in memory
    kStore           ///< a request is sent to the store
  };
  std::optional<ReadOn> choose_reader(const StoredBytes& bytes);
  void send_read_or_make_runnable(RowTask& task, Claim claim, ReadOn reader, Actions& actions);
  void call_user(const WindowBatchPtr& batch, RowTask& task);

  static RowTask& task_of(Element& element) { return static_cast<RowTask&>(element); }
  const BranchPlan& plan_of(const RowTask& task) const { return core_.plan.branch(task.branch); }
  const RowWork& work_of(const RowTask& task) const { return core_.row_work(task.branch); }
  StepCounters& counters(Element& element) override { return *plan_of(task_of(element)).fetch_counters; }
  std::shared_ptr<void> on_send(Element& element) override;
  bool is_due(Element& element) const override { return is_front(batches_, *task_of(element).batch); }
  void revoke(Element& element) override { revocation_.revoke(*task_of(element).batch, task_of(element)); }
  void on_arrival(Element& element) override { pause_flight(task_of(element)); }
  void on_error(Element& element, Status status, Actions& actions) override;
  void on_answer(const Call& call, Status status, const Schema& schema, Record record);
  void work(const WindowBatchPtr& batch, size_t index, WorkMemory& memory);
  RowResult run(RowTask& task, const RowPlacement& at, WorkMemory& memory) const;
  RowResult gather(RowTask& task, const RowPlacement& at, WorkMemory& memory) const;
  void run_part(int64_t begin, int64_t end, uint16_t branch, RowTask& task, const RowPlacement& at, WorkMemory& memory,
                RowResult& all) const;
  void process_result(const WindowBatchPtr& batch, RowTask& task, RowResult result, Claim grant, Actions& actions);
  void apply_verdict(const WindowBatchPtr& batch, RowTask& task, RowResult& result, Actions& actions);
  void fail_batch(WindowBatch& batch, RowResult& result);
  void read_from_store(const WindowBatchPtr& batch, RowTask& task, Actions& actions);
  static uint64_t bytes_until_assembly(const WindowBatch& batch, const RowTask& task);
  std::optional<uint64_t> charge_values(WindowBatch& batch, RowTask& task, Claim& grant) const;
  void finish(WindowBatch& batch, RowTask& task) const;

  const BlockUses& uses_;
  const Revocation& revocation_;
  const WindowReclaimer& reclaimer_;
  const WindowBatches& batches_;
};

}  // namespace forebay
