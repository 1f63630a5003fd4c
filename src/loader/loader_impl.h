#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "forebay/loader.h"
#include "loader/error_log.h"
#include "loader/run/checkpoint.h"
#include "loader/run/run.h"
#include "pipeline/run/runner.h"
#include "runtime/fork_guard.h"

namespace forebay {

/// A loader: a run, the runner that carries out its steps, and what the user sees of both. The description is compiled
/// when it is opened, except for what depends on passes over all samples: that is done by prepare(), once user code can
/// be called.
struct Loader::Impl {
  RunInput input;
  std::vector<DataWarning> warnings;  // of the source's opening
  std::shared_ptr<Run> run;
  std::shared_ptr<void> reading;   // of the source's store; until it is closed
  std::shared_ptr<Engine> engine;  // so that its limits stay those that sizes were chosen by; until it is closed
  uint64_t generation = process_generation();

  // Set by prepare().
  std::atomic<bool> prepared = false;  // what follows is constant from then on, and the run is
  std::shared_ptr<const ExecutionPlan> plan;
  std::optional<ErrorLog> errors;

  std::atomic<int64_t> interpreter_ns = 0;  // see waited_for_interpreter()
  bool epoch_over = false;                  // the last batch has been delivered, the end has not been told
  bool at_loaded_place = false;             // a state was loaded, and no batch has been delivered since

  mutable std::mutex
      mutex;  // guards runner, closed and errors against close(), stats() and take_call() from other threads
  std::shared_ptr<Runner> runner;
  bool closed = false;
  std::mutex closing;  // held while close() ends what there is, and before `mutex`

  const Description& description() const { return input.description(); }
  bool in_child() const { return process_generation() != generation; }

  Status usable() const {
    if (in_child())
      return invalid_argument(
          "this loader was made before a fork and its threads live in the parent process; make a new Loader in the "
          "child");
    std::lock_guard lock(mutex);
    return closed ? invalid_argument(
                        "the loader is closed; make a new one (its state_dict() goes on where this one stopped)")
                  : Status();
  }

  // What take_call() and close() find. Null between two runners.
  Status set_runner(std::shared_ptr<Runner> next) {
    std::lock_guard lock(mutex);
    if (closed && next) return cancelled("the loader was closed");
    runner = std::move(next);
    return {};
  }

  // Null in the child of a fork, too: the runner's lock may be held by a thread that is not there.
  std::shared_ptr<Runner> current() const {
    if (in_child()) return nullptr;
    std::lock_guard lock(mutex);
    return runner;
  }

  // An epoch that has no batch (left): all there is to tell of it is its end.
  bool ends_at(const Cursor& at) const {
    return run->steps()->epoch_over(at) && !(input.options.epochs && at.epoch >= *input.options.epochs);
  }

  Status prepare();
  /// What tells its states from those of others.
  Checkpoint identity() const;
  /// Of the same data set, pipeline and seed.
  Status go_to(const Checkpoint& saved);
  /// Where the run is not endless.
  void go_to_beginning_of(int64_t epoch);

 private:
  PassWatch watch_of_passes();
  Status start(RunnerOptions options);
};

}  // namespace forebay
