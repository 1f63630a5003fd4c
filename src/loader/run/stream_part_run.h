#pragma once

#include <memory>
#include <optional>
#include <string>

#include "loader/run/data_set_run.h"
#include "loader/run/run_decorator.h"
#include "loader/run/stream_part_steps.h"
#include "loader/run/stream_run.h"

namespace forebay {

/// A run over many data sets as one, of which one is a stream. It joins two runs. The run over all
/// parts plans the steps, and takes the stream for a data set whose samples never end. The run over
/// the stream has its records, decisions and ranks, and its place in a state; it takes its part for
/// a pipeline of its own, whose positions are the draws of the part (StreamPartSteps).
class StreamPartRun final : public RunDecorator {
 public:
  /// The leaf of a source with parts that is a stream. Nothing if there is none, or no parts.
  static std::optional<size_t> leaf_of(const Source& source);
  /// `leaf` is that of `source`. Errors of both runs, and InvalidArgument for an option that is for
  /// streams alone.
  static Result<std::shared_ptr<StreamPartRun>> open(const RunInput& input, const Source& source, size_t leaf);

  Status open_steps(RunSetup& setup) override;
  std::shared_ptr<StepSource> steps() const override { return steps_; }
  void begin(const std::shared_ptr<Runner>& runner) override;

  Status before_batch(const Cursor& at) override { return stream_->before_batch(at); }
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
  /// What both runs are opened with.
  struct Inputs {
    RunInput parts, stream;
  };
  StreamPartRun(std::shared_ptr<const Inputs> inputs, std::shared_ptr<DataSetRun> parts,
                std::shared_ptr<StreamRun> stream, std::string name, size_t leaf);
  static Result<std::shared_ptr<Inputs>> inputs_of(const RunInput& input, const Branch& branch);
  Checkpoint stream_state(const Checkpoint& state) const;

  const std::shared_ptr<const Inputs> inputs_;
  const std::shared_ptr<DataSetRun> parts_;  // the decorated run
  const std::shared_ptr<StreamRun> stream_;
  const std::string name_;  // of the part that is the stream
  const size_t leaf_;
  std::shared_ptr<StreamPartSteps> steps_;
  Cursor at_;  // of the next batch
};

}  // namespace forebay
