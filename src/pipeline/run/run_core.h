#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/cond_var.h"
#include "base/mutex.h"
#include "base/single_flight.h"
#include "engine/engine.h"
#include "engine/fetcher.h"
#include "pipeline/execution_plan.h"
#include "pipeline/foreign_calls.h"
#include "pipeline/itinerary.h"
#include "pipeline/row_work.h"
#include "pipeline/run/run_memory.h"
#include "pipeline/run/run_tuning.h"
#include "pipeline/run/runner_options.h"
#include "pipeline/run/thread_time.h"
#include "runtime/executor.h"

namespace forebay {

/// Order of tasks that run before those of all batches.
constexpr uint64_t kFirstOrder = 0;

/// Result of trying to move an element on.
enum class AdvanceResult : uint8_t {
  kMoved,       ///< it has moved on, or needs nothing now
  kLacksSlot,   ///< it lacks a compute thread or a request slot; others that need none may go on
  kLacksMemory  ///< it lacks memory; younger elements must not take any
};

/// Actions that are decided with the run's lock held and carried out without it.
struct Actions {
  struct Post {
    uint64_t order;  ///< the smallest runs first; see WindowBatch::order()
    Executor::Task task;
  };
  std::vector<Post> posts;                ///< tasks for the compute threads
  std::vector<PendingReadPtr> reads;      ///< reads to send to stores
  SingleFlight::Callbacks notifications;  ///< notifications of tasks that wait for cache entries

  bool empty() const { return posts.empty() && reads.empty() && notifications.empty(); }
};

/// Decides what a run does next; Window implements it. RunCore calls it with the run's lock held.
class Advancing {
 public:
  /// Moves all elements on that can be moved. Called repeatedly until it decides on no further
  /// action.
  virtual void advance(Actions& actions) = 0;
  /// Called after state has changed, before the lock is released, to update waits and traces.
  virtual void on_state_changed() {}

 protected:
  ~Advancing() = default;
};

/// The state that all parts of a run share: the plan, the resources, and the one mutex that guards
/// the bookkeeping of all parts. Reading, decoding and user code run without the mutex. A thread
/// that returns from there takes an AdvancingLock, so that the run decides what follows. The window
/// owns it.
class RunCore {
 public:
  using Lock = forebay::Lock;

  RunCore(Engine& engine, ExecutionPlan plan, std::shared_ptr<StepSource> steps, RunnerOptions options);
  /// Must be called first. `run` decides the next actions; `alive` owns the run, and is held while
  /// anything is in flight.
  void set_run(Advancing& run, std::weak_ptr<void> alive);

  // Usable from any thread without the lock:
  const ExecutionPlan plan;
  const std::shared_ptr<StepSource> steps;
  const RunnerOptions options;
  const std::vector<RowWork> row_works;  ///< by branch
  const RowWork& row_work(size_t branch) const { return row_works[branch]; }
  RunMemory memory;
  ForeignCalls calls;
  ThreadTime thread_time;
  /// Keeps the run alive. Reads, calls and tasks hold it while they are in flight.
  std::shared_ptr<void> alive() const { return alive_.lock(); }
  std::weak_ptr<void> weakly_alive() const { return alive_; }

  mutable Mutex mutex;
  // Guarded by the mutex. The analysis does not check it, since it does not take the mutex of the
  // runner and of each part for the same.
  CondVar changed;  ///< wakes the consumer and close()
  Fetcher fetcher;
  /// The slots of the store of each branch. Null if the branch fetches nothing.
  const std::vector<StoreSlots*> store_slots;
  /// The run's queue on the compute threads. Null before the first next_for() and after close().
  std::unique_ptr<Executor::Queue> queue;
  RunTuning tuning;
  bool closed = false;
  int64_t reclaimed = 0;  ///< tasks that had begun and were revoked

  /// Stores notifications. act() or send_notifications() sends them once the lock is released.
  void notify_later(SingleFlight::Callbacks callbacks);
  /// Ends the flight of a cache entry and notifies the tasks that wait for it.
  void end_flight(std::unique_ptr<SingleFlight::Flight>& flight);
  /// Sends the stored notifications, for callers that do not call act(). Releases the lock
  /// meanwhile.
  void send_notifications(Lock& lock) FOREBAY_REQUIRES(mutex);

  /// Adds a task for a compute thread. `task` is an Executor::Task and has to call on_task_ended(),
  /// with the lock held. The run lives at least as long as the task.
  template <typename Task>
  void post(Actions& actions, uint64_t order, Work what, Task task) {
    post(actions, order, what, order, std::move(task));
  }
  /// `trace_id` identifies the work in the trace (run_trace.h), if that is not the order.
  template <typename Task>
  void post(Actions& actions, uint64_t order, Work what, uint64_t trace_id, Task task) {
    ++posted_;
    actions.posts.push_back({order, timed_task(what, trace_id, std::move(task))});
  }
  void on_task_ended() { --posted_; }
  /// Posted tasks that have not ended.
  int posted() const { return posted_; }
  bool anything_running() const { return posted_ > 0 || fetcher.in_flight() > 0; }
  /// Whether the compute threads have enough tasks. A short queue is enough to keep them busy, and
  /// leaves memory to older tasks.
  bool threads_full() const { return posted_ >= 2 * tuning.threads() + 2; }
  /// Whether no task of the branch needs a read of its own: nothing is fetched, or the bytes are in
  /// the page cache.
  bool reads_on_compute_threads(size_t branch) const {
    const StoreSlots* const slots = store_slots[branch];
    return !plan.branch(branch).fetches || (slots != nullptr && slots->expects_page_cache_hit());
  }
  /// The same for all branches.
  bool reads_on_compute_threads() const;
  /// Whether a task of some branch that needs a read of its own can be sent now.
  bool has_read_slot() const;
  /// Limit of reads in flight to the store that allows most, as of the last refresh.
  int read_limit() const { return largest_limit(&StoreSlots::limit); }
  /// The same as of now. May be called from any thread.
  int current_read_limit() const { return largest_limit(&StoreSlots::current_limit); }

  /// Carries out `actions` and lets the run advance, until it decides on no further action. The
  /// lock is held before and after, and released meanwhile.
  void act(Lock& lock, Actions actions = {}) FOREBAY_REQUIRES(mutex);
  /// Called with the lock held by code that changes states in a way that lets nothing advance.
  void on_state_changed() { run_->on_state_changed(); }
  /// Posts act() to a compute thread, for callers that must not spend time on it or belong to
  /// another run. `destroyed_there` is released on that thread.
  void post_act(std::shared_ptr<void> destroyed_there = nullptr);

 private:
  template <typename Task>
  Executor::Task timed_task(Work what, uint64_t trace_id, Task task) {
    return [this, alive = alive(), what, trace_id, task = std::move(task)](WorkMemory& of_thread) mutable {
      const WorkTimer timer(thread_time, what, plan.trace().get(), trace_id);
      task(of_thread);
    };
  }

  void decide(Actions& actions);
  int largest_limit(int (StoreSlots::*limit)() const) const;

  Advancing* run_ = nullptr;
  SingleFlight::Callbacks notifications_;
  std::weak_ptr<void> alive_;
  int posted_ = 0;
};

/// Holds the lock of a run, for a thread that returns with a result. Its destructor lets the run
/// advance, carries out the actions, and releases the lock.
class FOREBAY_SCOPED_CAPABILITY AdvancingLock {
 public:
  explicit AdvancingLock(RunCore& core) FOREBAY_ACQUIRE(core.mutex);
  ~AdvancingLock() FOREBAY_RELEASE();
  AdvancingLock(const AdvancingLock&) = delete;
  AdvancingLock& operator=(const AdvancingLock&) = delete;

  Actions actions;

 private:
  RunCore& core_;
  RunCore::Lock lock_;
};

}  // namespace forebay
