#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "forebay/ledger.h"
#include "forebay/loader.h"
#include "loader/compile/compile.h"
#include "loader/compile/sizing.h"
#include "loader/peers/distributed.h"
#include "loader/run/checkpoint.h"
#include "loader/samples/reading_pass.h"
#include "pipeline/run/runner.h"
#include "stream/rehearsal_itinerary.h"

namespace forebay {

class SampleLabels;

/// What the user gave a loader, and where it runs. It outlives the run, and does not change.
struct RunInput {
  Pipeline pipeline;
  LoaderOptions options;
  Place place;
  SizingInput sizes;

  const Description& description() const { return pipeline.description(); }
};

/// What is decided before the first batch. Each of Run's steps adds to it.
struct RunSetup {
  CompileInput compile;                            ///< `selection` and `packing` are set by Run::choose()
  PassWatch watch;                                 ///< of passes over all samples
  std::shared_ptr<const ExecutionPlan> plan = {};  ///< behind choose()
  SizingInput sizes = {};                          ///< what Run::order() says is needed
  RunnerOptions runner = {};                       ///< chosen by it; Run::open_steps() adds the memory kept beside
};

/// The samples of a run's steps, for a run that replays some of them.
class RunSamples : public StepSamples {
 public:
  /// What a state needs beside the ids of kept samples to find them again, as JSON; empty where ids are enough.
  virtual std::string places(std::span<const int64_t> /*ids*/) const { return {}; }
  /// Finds samples of a state again: their ids, and what places() said of them. InvalidArgument where they cannot be
  /// samples of this run.
  virtual Status find(std::span<const int64_t> ids, const std::string& places) = 0;
  /// StateMismatch where this run, from its beginning, has other samples of these ids.
  virtual Status check_before(std::span<const int64_t> /*ids*/) const { return {}; }
};

/// What a loader reads and in which steps: a data set (DataSetRun), a stream (StreamRun), or either of them with old
/// samples replayed (ReplayRun, a decorator). A loader owns one. It calls everything from the consumer's thread, but for
/// stop(), release() and add_to(), which may come from any thread.
///
/// A loader prepares its run once, in this order: choose(); the plan is compiled; order(); the runner's sizes are chosen;
/// open_steps(); a runner over steps() begins; begin().
class Run {
 public:
  /// Called once the runner stands at another place.
  using GoOn = std::function<void()>;

  virtual ~Run() = default;

  /// What is read.
  virtual std::shared_ptr<const Source> source() const = 0;
  /// Whether preparing reads all samples, and so may call user code.
  virtual bool passes() const { return false; }

  /// Which samples take part.
  virtual Status choose(RunSetup& setup) = 0;
  /// In which order, and what is needed beside batches.
  virtual Status order(RunSetup& setup) = 0;
  virtual Status open_steps(RunSetup& setup) = 0;
  virtual std::shared_ptr<StepSource> steps() const = 0;
  virtual void begin(const std::shared_ptr<Runner>& /*runner*/) {}

  /// Samples of an epoch, behind choose(); 0 where nobody knows.
  virtual int64_t size() const { return 0; }
  /// Tells choices apart that came of reading the data set.
  virtual std::string choice() const { return {}; }
  /// How ranks share the samples: "count", "locality"; empty for a stream.
  virtual std::string shard_assignment() const { return {}; }
  /// What one rank of so many gets in an epoch. InvalidArgument where that is not known before.
  virtual Result<EpochPlan> plan(int64_t epoch, int64_t rank, int64_t world_size, int64_t max_steps) const = 0;
  /// The samples of its steps, for who replays them; their classes are told by `labels`. Behind open_steps().
  virtual std::shared_ptr<RunSamples> samples(const SampleLabels& labels) = 0;

  /// Before the batch of `at` is asked for: an error where the ranks of the job turned out to do different things.
  virtual Status before_batch(const Cursor& /*at*/) { return {}; }
  /// The next batch is that of `at`.
  virtual void stands_at(const Cursor& /*at*/) {}

  /// Adds what a state needs to go on from its cursor, a place that the run stands at.
  virtual void save(Checkpoint& /*state*/) const {}
  /// Reads a state. An error leaves everything as it is. The runner is brought there between pause() and what it gives.
  virtual Result<GoOn> load(const Checkpoint& saved) = 0;
  /// Whether only what has arrived is known of it. What has an end can go to the beginning of any epoch, between pause()
  /// and go_elsewhere().
  virtual bool is_endless() const = 0;
  /// No step is known from here on, until the run goes on.
  virtual void pause() {}
  virtual void go_elsewhere() {}
  /// From here on what is decided is noted in that file. InvalidArgument where everything follows from the seed.
  virtual Status write_journal(const std::string& path, const Cursor& at) = 0;

  virtual void add_to(Ledger& ledger) const = 0;
  /// Nothing arrives for the runner any more.
  virtual void stop() {}
  /// Behind stop() and the runner's end.
  virtual void release() {}
};

/// Opens what a description names, and the connections to other ranks. `source`: its source, which is open.
Result<std::shared_ptr<Run>> open_run(const RunInput& input, std::shared_ptr<const Source> source);

}  // namespace forebay
