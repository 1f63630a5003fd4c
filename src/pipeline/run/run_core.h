#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

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

/// What became of something that could perhaps be moved on.
enum class Step : uint8_t { kMoved, kNoSlot, kNoBytes };

/// What is decided under the lock of a run and has to happen without it.
struct Actions {
  struct Post {
    uint64_t order;  ///< the smallest goes first
    Executor::Task task;
  };
  std::vector<Post> posts;         ///< to the compute threads
  std::vector<FlightPtr> flights;  ///< to stores
  SingleFlight::Told told;         ///< to those who waited for entries of the cache

  bool empty() const { return posts.empty() && flights.empty() && told.empty(); }
};

/// Moves on whatever can be moved; called with the lock held, again and again until it decides nothing more.
class Advancing {
 public:
  virtual void advance(Actions& actions) = 0;
  /// Something became different that decides nothing: with the lock held, before it is let go of.
  virtual void settled() {}

 protected:
  ~Advancing() = default;
};

/// What the parts of a run have in common: what is run, its resources, and the one mutex that guards the bookkeeping of all parts.
/// Reading, decoding and user code run without it; whoever comes back from there takes a Turn.
class RunCore {
 public:
  using Lock = std::unique_lock<std::mutex>;

  RunCore(Engine& engine, std::shared_ptr<const ExecutionPlan> plan, std::shared_ptr<StepSource> steps,
          RunnerOptions options);
  /// Before anything else: what moves this run on, and what has to live while something is under way.
  void serve(Advancing& run, std::weak_ptr<void> alive);

  // From any thread, without the lock:
  const std::shared_ptr<const ExecutionPlan> plan;
  const std::shared_ptr<StepSource> steps;
  const RunnerOptions options;
  const RowWork row_work;
  RunMemory memory;
  ForeignCalls calls;
  ThreadTime thread_time;
  /// Whoever may come back later holds this meanwhile.
  std::shared_ptr<void> alive() const { return alive_.lock(); }
  std::weak_ptr<void> weakly_alive() const { return alive_; }

  mutable std::mutex mutex;
  // With the lock held:
  std::condition_variable changed;  ///< for the consumer, and for close()
  Fetcher fetcher;
  StoreLine* const line;  ///< to the data set; null where nothing is fetched
  /// Of the compute threads; null before the first batch is asked for, and once the run is closed.
  std::unique_ptr<Executor::Queue> queue;
  RunTuning tuning;
  bool closed = false;
  int64_t retracted = 0;  ///< tasks whose bytes were taken back

  /// Called when the lock is next let go of: by act(), or tell_all().
  void tell(SingleFlight::Told told);
  /// The entry is not made any more, or is there.
  void end(std::unique_ptr<SingleFlight::Flight>& making);
  /// For who does not act() before letting go of the lock, which is held before and after.
  void tell_all(Lock& lock);

  /// `task`, an Executor::Task, has to lead to ended(), under the lock. The run lives at least as long as it.
  template <typename Task>
  void post(Actions& actions, uint64_t order, Work what, Task task) {
    post(actions, order, what, order, std::move(task));
  }
  /// `about`: for the trace, where the order does not say what it works on.
  template <typename Task>
  void post(Actions& actions, uint64_t order, Work what, uint64_t about, Task task) {
    ++posted_;
    actions.posts.push_back({order, on_a_thread(what, about, std::move(task))});
  }
  void ended() { --posted_; }
  /// Tasks posted that have not ended.
  int posted() const { return posted_; }
  bool anything_running() const { return posted_ > 0 || fetcher.in_flight() > 0; }
  /// A short queue is enough to keep the threads busy, and leaves memory to those who are older.
  bool threads_full() const { return posted_ >= 2 * tuning.threads() + 2; }
  /// Nothing waits for storage by itself: what is fetched is in the page cache, or nothing is fetched.
  bool reads_on_compute_threads() const { return !plan->fetches || (line != nullptr && line->reads_now()); }
  int read_limit() const { return line != nullptr ? line->limit() : options.requests; }

  /// Carries out what was decided, lets the run advance, and so on until there is nothing left to do. The lock is held before and
  /// after, but not meanwhile.
  void act(Lock& lock, Actions actions = {});
  /// For who has changed something that lets nothing advance. With the lock held.
  void settled() { run_->settled(); }
  /// The same as act() on a compute thread, for those who have no time for it, or are elsewhere; what is given is destroyed there.
  void act_on_a_thread(std::shared_ptr<void> taken_apart = nullptr);

 private:
  template <typename Task>
  Executor::Task on_a_thread(Work what, uint64_t about, Task task) {
    return [this, alive = alive(), what, about, task = std::move(task)](WorkMemory& of_thread) mutable {
      const Spell spell(thread_time, what, plan->trace->get(), about);
      task(of_thread);
    };
  }

  void decide(Actions& actions);

  Advancing* run_ = nullptr;
  SingleFlight::Told told_;
  std::weak_ptr<void> alive_;
  int posted_ = 0;
};

/// A stay under the lock of a run. At its end the run advances, and what was decided happens without the lock.
class Turn {
 public:
  explicit Turn(RunCore& core);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  Actions actions;

 private:
  RunCore& core_;
  RunCore::Lock lock_;
};

}  // namespace forebay
