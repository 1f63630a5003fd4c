#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "forebay/loader.h"
#include "loader/compile/compile.h"
#include "loader/compile/sizing.h"
#include "loader/peers/distributed.h"
#include "loader/run/checkpoint.h"
#include "loader/run/run_samples.h"
#include "loader/samples/plan_edit.h"
#include "loader/samples/reading_pass.h"
#include "pipeline/run/runner.h"

namespace forebay {

struct Ledger;
class SampleLabels;

/// Pipeline and options of a loader, and its rank in the job. Constant; it outlives the run.
struct RunInput {
  Pipeline pipeline;
  LoaderOptions options;
  RankInfo rank_info;
  SizingInput sizes;

  const Description& description() const { return pipeline.description(); }
};

/// Decisions that are made before the first batch. Each of Run's preparing calls adds to it.
struct RunSetup {
  /// One for each branch, at first one for the whole pipeline. Run::choose() completes them.
  std::vector<CompileInput> branches;
  PassCallbacks callbacks;                 ///< for passes over all samples
  std::optional<ExecutionPlan> plan = {};  ///< set after choose()
  SizingInput sizes = {};                  ///< Run::order() adds the needs of the run
  RunnerOptions runner = {};               ///< Run::open_steps() adds memory of caches
};

/// The steps of a loader over its data: over data sets (DataSetRun), over a stream (StreamRun), over
/// parts that are either (StreamPartRun), and over any of these with replayed samples (ReplayRun, a
/// decorator). A loader owns one. All calls come from the consumer's thread, except stop(), release()
/// and add_to(), which may come from any thread.
///
/// A loader prepares its run once. It calls choose(), compiles the plan, calls order(), chooses the
/// sizes of the runner, calls open_steps(), starts a runner over steps(), and calls begin().
class Run {
 public:
  /// Continues the run. Called once the runner has moved to the loaded position.
  using Resume = std::function<void()>;

  virtual ~Run() = default;

  /// The source of the samples.
  virtual std::shared_ptr<const Source> source() const = 0;
  /// Whether preparing reads all samples, and so may call user code.
  virtual bool needs_pass() const { return false; }

  /// Decides which samples take part.
  virtual Status choose(RunSetup& setup) = 0;
  /// Decides their order, and adds to RunSetup::sizes what follows from it.
  virtual Status order(RunSetup& /*setup*/) { return {}; }
  /// Creates the steps that steps() returns.
  virtual Status open_steps(RunSetup& setup) = 0;
  virtual std::shared_ptr<StepSource> steps() const = 0;
  /// Called when `runner` carries out the steps.
  virtual void begin(const std::shared_ptr<Runner>& /*runner*/) {}

  /// Number of samples of an epoch, after choose(). 0 if it is unknown.
  virtual int64_t size() const { return 0; }
  /// The last epoch whose positions can be computed.
  virtual int64_t last_epoch() const { return kMaxEpoch; }
  /// The first place that the run's steps answer about: its beginning, or the last change of parts.
  virtual Cursor earliest() const { return {}; }
  /// Hash of the changes of the plan since the run began; empty if there are none.
  virtual std::string changes_version() const { return {}; }
  /// Complete passes over the samples of a branch before the batch at `at`. After open_steps().
  virtual int64_t passes_before(size_t /*branch*/, const Cursor& at) const { return at.epoch; }
  /// Hash of the choice of samples, as far as it depends on data that was read.
  virtual std::string selection_version() const { return {}; }
  /// Shard assignment: "count", "locality", …; empty for a stream.
  virtual std::string shard_assignment() const { return {}; }
  /// Plans an epoch of one rank of `world_size`. InvalidArgument if it is not known in advance.
  virtual Result<EpochPlan> plan(int64_t epoch, int64_t rank, int64_t world_size, int64_t max_steps) const = 0;
  /// Samples of the steps, for a replay buffer. `labels` gives their classes, by branch. After
  /// open_steps().
  virtual std::shared_ptr<RunSamples> samples(std::vector<SampleLabels> labels) = 0;

  /// Called before the batch at `at` is requested. Returns an error if ranks of the job turned out
  /// to run different things.
  virtual Status before_batch(const Cursor& /*at*/) { return {}; }
  /// Called when the runner has advanced: `at` is the position of the next batch.
  virtual void advanced_to(const Cursor& /*at*/) {}

  /// Adds to a state what a loader needs to resume at the state's cursor.
  virtual void save(Checkpoint& /*state*/) const {}
  /// Changes the plan from the batch at `at` on. The loader then lets the runner seek to `at`, and
  /// calls the returned function, which is empty if nothing changes. Returns the errors of
  /// PlanEdit::edit, without a change. After open_steps().
  virtual Result<Resume> change(const PlanEdit& edit, const Cursor& at);
  /// Returns a state of another pipeline as one of this run: its parts go on where the same parts of
  /// that pipeline were. After open_steps().
  virtual Result<Checkpoint> with_changed_parts(const Checkpoint& saved) const;
  /// The parts of the pipeline, as a state at the beginning has them.
  virtual std::vector<SavedPart> parts() const { return {}; }

  /// Parses a state. An error changes nothing. The loader then calls pause(), moves the runner, and
  /// calls the returned function.
  virtual Result<Resume> load(const Checkpoint& saved) = 0;
  /// Whether the run has no end, so that only records that have arrived are known. A run with an
  /// end can move to the beginning of any epoch, between pause() and resume_at_epoch().
  virtual bool is_endless() const = 0;
  /// Makes steps() return no step until the run continues.
  virtual void pause() {}
  /// Continues at the beginning of the epoch to which the runner has moved.
  virtual void resume_at_epoch() {}
  /// Logs decisions to that file from here on. InvalidArgument if everything follows from the seed.
  virtual Status write_journal(const std::string& path, const Cursor& at) = 0;

  /// Adds the statistics of the run.
  virtual void add_to(Ledger& ledger) const = 0;
  /// Ends all arrivals for the runner, and all waiting.
  virtual void stop() {}
  /// Releases resources. Called after stop() and after the end of the runner.
  virtual void release() {}
};

/// Opens the run of a description, and the connections to other ranks. `source` is its open source.
Result<std::shared_ptr<Run>> open_run(const RunInput& input, std::shared_ptr<const Source> source);

}  // namespace forebay
