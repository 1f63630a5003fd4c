#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "loader/run/replay_rows.h"
#include "loader/run/run_decorator.h"
#include "loader/run/run_samples.h"
#include "loader/run/sample_labels.h"
#include "loader/samples/sample_classes.h"
#include "plan/rehearsal.h"
#include "stream/replay_steps.h"

namespace forebay {

/// A decorator of a run that adds samples of a replay buffer to its steps. A `.rehearse()` adds
/// them after the new samples of each step. A `.buffer(on_underrun="repeat")` uses them in place of
/// records that did not arrive in time.
class ReplayRun final : public RunDecorator {
 public:
  /// InvalidArgument if the field that determines classes is unusable.
  static Result<std::shared_ptr<ReplayRun>> open(const RunInput& input, std::shared_ptr<Run> run);

  bool needs_pass() const override;

  Status choose(RunSetup& setup) override;
  Status order(RunSetup& setup) override;
  Status open_steps(RunSetup& setup) override;
  std::shared_ptr<StepSource> steps() const override { return steps_; }

  void advanced_to(const Cursor& at) override;

  /// The planned steps that were not delivered draw anew, from the buffer of the delivered ones.
  Result<Resume> change(const PlanEdit& edit, const Cursor& at) override;
  /// Unsupported for other parts, whose samples the buffer would have to lose.
  Result<Checkpoint> with_changed_parts(const Checkpoint& saved) const override;

  void save(Checkpoint& state) const override;
  Result<Resume> load(const Checkpoint& saved) override;
  void pause() override;
  void resume_at_epoch() override;

  void add_to(Ledger& ledger) const override;

 private:
  ReplayRun(const RunInput& input, std::shared_ptr<Run> run) : RunDecorator(std::move(run)), input_(input) {}
  Status restore_given_buffer();
  ReplayState state_of(const Rehearsal& buffer) const;
  std::vector<SourceFields> source_fields() const;
  template <typename T>
  Result<T> in_part(size_t branch, Result<T> result) const;
  Result<SampleLabels> labels_of(RunSetup& setup, size_t branch, const SourceFields& fields);
  // A replay buffer of a state, and what makes its samples those of the run.
  struct Restored {
    Rehearsal buffer;
    Restore samples;
  };
  Result<Restored> restored(const ReplayState& state) const;
  bool is_underrun_buffer() const { return options_.draws == 0; }

  const RunInput& input_;
  RehearsalOptions options_;
  int64_t replayed_ = 0;                  // replayed samples in each step of this rank
  std::string by_;                        // field that determines a sample's class; or ""
  std::vector<std::string> read_fields_;  // by branch: `by_` if a pass must read it; "" otherwise
  std::shared_ptr<ReplayRows> results_;   // null: replayed samples pass all steps again
  uint64_t class_bytes_ = 0;              // of classes that passes have read
  std::shared_ptr<RunSamples> samples_;
  std::shared_ptr<ReplaySteps> steps_;
};

}  // namespace forebay
