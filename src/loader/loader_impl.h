#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "forebay/loader.h"
#include "loader/checkpoint.h"
#include "loader/chosen_samples.h"
#include "loader/compile.h"
#include "loader/dealing.h"
#include "loader/distributed.h"
#include "loader/error_log.h"
#include "loader/kept_rows.h"
#include "loader/open_peers.h"
#include "loader/reading_pass.h"
#include "loader/rehearsing.h"
#include "loader/sizing.h"
#include "loader/streaming.h"
#include "pipeline/run/runner.h"
#include "runtime/fork_guard.h"

namespace forebay {

// The description is compiled when it is opened, except for what depends on how many samples filters leave: that is done by
// prepare(), once user code can be called.
struct Loader::Impl {
  Pipeline pipeline;
  LoaderOptions options;
  Place place;
  SizingInput sizes;
  std::shared_ptr<const Source> source;
  std::vector<DataWarning> warnings;  // of its opening
  std::shared_ptr<void> reading;      // of its store; until it is closed
  std::shared_ptr<Engine>
      engine;  // from the beginning, so that its limits stay those that sizes were chosen by; until it is closed
  uint64_t generation = process_generation();

  // Set by prepare().
  std::atomic<bool> prepared = false;  // what follows is constant from then on
  ChosenSamples chosen;
  std::shared_ptr<const ExecutionPlan> plan;
  std::shared_ptr<StepSource> itinerary;
  std::optional<ErrorLog> errors;
  std::string dealt;  // Ordering::dealt
  std::vector<std::shared_ptr<TieredCache>> caches;
  std::vector<std::pair<Hash128, std::shared_ptr<TieredCache>>> opened;
  std::shared_ptr<Job> job;                      // null: one rank, or ranks that do not speak with each other
  std::shared_ptr<PeerGroup> peers;              // null: without a job, and for a stream
  std::shared_ptr<StreamRun> stream;             // null: the data set has an end
  std::shared_ptr<RehearsalRun> rehearsal;       // null: nothing old is asked for
  std::shared_ptr<KeptRows> kept_rows;           // null: old samples pass all steps again
  std::shared_ptr<const SampleClasses> classes;  // null: nothing had to be read for them

  std::atomic<int64_t> interpreter_ns = 0;  // see waited_for_interpreter()
  bool epoch_over = false;                  // the last batch has been delivered, the end has not been told
  bool at_loaded_place = false;             // a state was loaded, and no batch has been delivered since

  mutable std::mutex
      mutex;  // guards runner, closed and errors against close(), stats() and take_call() from other threads
  std::shared_ptr<Runner> runner;
  bool closed = false;
  std::mutex closing;  // held while close() ends what there is, and before `mutex`

  const Description& description() const { return pipeline.description(); }
  const UnitSource* units() const { return source->as_units(); }
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
    return itinerary->epoch_over(at) && !(options.epochs && at.epoch >= *options.epochs);
  }

  // With as many ranks as that.
  DealRequest dealing(int64_t world_size) const {
    return {options.shard_by, options.hosts, world_size == place.world_size ? place.hosts : 0};
  }

  PassWatch watch_of_passes();
  Result<std::shared_ptr<EntryCache>> open_cache(size_t step, const Hash128& cached, uint64_t least_bytes);
  Status prepare();
  Checkpoint checkpoint() const;
  /// Of the same data set, pipeline and seed.
  Status go_to(const Checkpoint& saved);
  /// Not of a stream.
  void go_to_beginning_of(int64_t epoch);

 private:
  Status prepare_samples(CompileInput& input);
  Status prepare_stream(CompileInput& input);
  Status begin_rehearsal();
  std::vector<RunnerOptions::Beside> beside() const;
  Status start(RunnerOptions runner_options);
};

}  // namespace forebay
