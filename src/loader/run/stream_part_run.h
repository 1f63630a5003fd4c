#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loader/run/data_set_run.h"
#include "loader/run/run_decorator.h"
#include "loader/run/stream_part_steps.h"
#include "loader/run/stream_run.h"

namespace forebay {

/// A run over many data sets as one, of which some are streams. It joins several runs. The run over
/// all parts plans the steps, and takes each stream for a data set whose samples never end. The run
/// over a stream has its records, decisions and ranks, and its place in a state; it takes its part
/// for a pipeline of its own, whose positions are the draws of the part (StreamPartSteps).
class StreamPartRun final : public RunDecorator {
 public:
  /// The leaves of a source with parts that are streams. Empty if there are none, or no parts.
  static std::vector<size_t> leaves_of(const Source& source);
  /// `leaves` are those of `source`. Errors of all runs, and InvalidArgument for an option that is
  /// for streams alone.
  static Result<std::shared_ptr<StreamPartRun>> open(const RunInput& input, const Source& source,
                                                     const std::vector<size_t>& leaves);

  /// As StreamRun::repeats(), of any stream.
  bool repeats() const;

  Status open_steps(RunSetup& setup) override;
  std::shared_ptr<StepSource> steps() const override { return steps_; }
  void begin(const std::shared_ptr<Runner>& runner) override;

  std::shared_ptr<RunSamples> samples(std::vector<SampleLabels> labels) override;

  Status before_batch(const Cursor& /*at*/) override { return job_ ? job_->check_run() : Status(); }
  void advanced_to(const Cursor& at) override;

  Result<Resume> change(const PlanEdit& edit, const Cursor& at) override;
  /// A stream that the saved run did not have begins where this run's stands.
  Result<Checkpoint> with_changed_parts(const Checkpoint& saved) const override;

  void save(Checkpoint& state) const override;
  Result<Resume> load(const Checkpoint& saved) override;
  bool is_endless() const override { return true; }
  void pause() override;
  Status write_journal(const std::string& path, const Cursor& at) override;

  void add_to(Ledger& ledger) const override;
  void stop() override;
  void release() override;

 private:
  /// The inputs that the runs are opened with; the runs refer to them.
  struct Inputs {
    RunInput parts;
    std::vector<RunInput> streams;
  };
  /// A part that is a stream.
  struct StreamLeaf {
    size_t leaf = 0;
    std::string path;  ///< of the part
    std::shared_ptr<StreamRun> run;
  };
  StreamPartRun(std::shared_ptr<const Inputs> inputs, std::shared_ptr<DataSetRun> parts,
                std::vector<StreamLeaf> streams, std::shared_ptr<Job> job);
  static std::shared_ptr<Inputs> inputs_of(const RunInput& input, const std::vector<Branch>& streams);
  StreamState state_of(const StreamLeaf& stream, const Cursor& at) const;
  Result<Resume> load_streams(const Checkpoint& saved) const;

  const std::shared_ptr<const Inputs> inputs_;
  const std::shared_ptr<DataSetRun> parts_;  // the decorated run
  const std::vector<StreamLeaf> streams_;
  const std::shared_ptr<Job> job_;  // the ranks that read the streams; null if there is one
  std::shared_ptr<StreamPartSteps> steps_;
  Cursor at_;  // of the next batch
};

}  // namespace forebay
