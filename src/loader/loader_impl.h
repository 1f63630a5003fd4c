#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "engine/engine.h"
#include "forebay/loader.h"
#include "loader/error_log.h"
#include "loader/run/checkpoint.h"
#include "loader/run/run.h"
#include "pipeline/run/runner.h"
#include "runtime/fork_guard.h"

namespace forebay {

/// State of a loader: a run, the runner that carries out its steps, and the options of both. Only
/// the consumer's thread uses it, except that close(), stats() and take_call() use the members that
/// `mutex` guards from any thread.
///
/// The run is opened with the loader. A pass over all samples may call user code, so anything that
/// depends on such a pass is decided in prepare(), once the user can serve these calls.
struct Loader::Impl {
  RunInput input;
  std::vector<DataWarning> warnings;  // from opening the source
  std::shared_ptr<Run> run;
  std::shared_ptr<void> reading;   // begin_reading() of the source's store; released by close()
  std::shared_ptr<Engine> engine;  // holds the limits that sizes rely on; until close()
  uint64_t generation = process_generation();

  // Set by prepare().
  std::atomic<bool> prepared = false;  // once true, `run` and the members below no longer change
  std::optional<ExecutionPlan> plan;

  std::atomic<int64_t> interpreter_ns = 0;  // see waited_for_interpreter()
  bool epoch_over = false;                  // the last batch is delivered, the end not yet reported
  bool at_loaded_state = false;             // a state was loaded, and no batch delivered since

  // Other threads call close(), stats() and take_call().
  mutable Mutex mutex;
  std::optional<ErrorLog> errors FOREBAY_GUARDED_BY(mutex);  // set by prepare()
  std::shared_ptr<Runner> runner FOREBAY_GUARDED_BY(mutex);
  std::stop_source closed FOREBAY_GUARDED_BY(mutex);  // requested by close()
  Mutex closing;  // held while close() ends the runner and the run; not taken under `mutex`

  const Description& description() const { return input.description(); }
  bool in_child() const { return process_generation() != generation; }

  Status usable() const {
    if (in_child())
      return invalid_argument(
          "this loader was made before a fork and its threads live in the parent process; make a new Loader in the "
          "child");
    Lock lock(mutex);
    return closed.stop_requested()
               ? invalid_argument(
                     "the loader is closed; make a new one (its state_dict() goes on where this one stopped)")
               : Status();
  }

  // Sets the runner that take_call() and close() use. Null between two runners.
  Status set_runner(std::shared_ptr<Runner> next) {
    Lock lock(mutex);
    if (closed.stop_requested() && next) return cancelled("the loader was closed");
    runner = std::move(next);
    return {};
  }

  // Returns null in the child of a fork, too: a thread of the parent may hold the runner's lock.
  std::shared_ptr<Runner> current() const {
    if (in_child()) return nullptr;
    Lock lock(mutex);
    return runner;
  }

  // Whether the epoch has no batch left, so that next() has only its end to report.
  bool epoch_ends_at(const Cursor& at) const {
    return run->steps()->epoch_over(at) && !(input.options.epochs && at.epoch >= *input.options.epochs);
  }

  Status prepare();
  /// Fingerprints that distinguish this loader's states from those of other loaders.
  Checkpoint identity() const;
  /// Checks a state, and moves to it.
  Status load(const Checkpoint& saved, bool strict);
  /// Moves to a state. The caller has checked that it has the same data set, pipeline and seed.
  Status restore(const Checkpoint& saved);
  /// Changes the plan from the next batch on.
  Status change(const PlanEdit& edit);
  /// Not for an endless run.
  void seek_to_epoch(int64_t epoch);

 private:
  PassCallbacks pass_callbacks();
  Status start(RunnerOptions options);
};

}  // namespace forebay
