#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "loader/run/replay_rows.h"
#include "loader/run/run.h"
#include "loader/run/sample_labels.h"
#include "loader/samples/sample_classes.h"
#include "plan/rehearsal.h"
#include "stream/replay_steps.h"

namespace forebay {

/// A decorator of a run that adds samples of a replay buffer to its steps. A `.rehearse()` adds
/// them after the new samples of each step. A `.buffer(on_underrun="repeat")` uses them in place of
/// records that did not arrive in time. Everything else is forwarded to the decorated run.
class ReplayRun final : public Run {
 public:
  /// InvalidArgument if the field that determines classes is unusable.
  static Result<std::shared_ptr<ReplayRun>> open(const RunInput& input, std::shared_ptr<Run> run);

  std::shared_ptr<const Source> source() const override { return run_->source(); }
  bool needs_pass() const override { return run_->needs_pass() || !read_field_.empty(); }

  Status choose(RunSetup& setup) override;
  Status order(RunSetup& setup) override;
  Status open_steps(RunSetup& setup) override;
  std::shared_ptr<StepSource> steps() const override { return steps_; }
  void begin(const std::shared_ptr<Runner>& runner) override { run_->begin(runner); }

  int64_t size() const override { return run_->size(); }
  int64_t last_epoch() const override { return run_->last_epoch(); }
  std::string selection_version() const override { return run_->selection_version(); }
  std::string shard_assignment() const override { return run_->shard_assignment(); }
  Result<EpochPlan> plan(int64_t epoch, int64_t rank, int64_t world_size, int64_t max_steps) const override {
    return run_->plan(epoch, rank, world_size, max_steps);
  }
  std::shared_ptr<RunSamples> samples(const SampleLabels& labels) override { return run_->samples(labels); }

  Status before_batch(const Cursor& at) override { return run_->before_batch(at); }
  void advanced_to(const Cursor& at) override;

  void save(Checkpoint& state) const override;
  Result<Resume> load(const Checkpoint& saved) override;
  bool is_endless() const override { return run_->is_endless(); }
  void pause() override;
  void resume_at_epoch() override;
  Status write_journal(const std::string& path, const Cursor& at) override { return run_->write_journal(path, at); }

  void add_to(Ledger& ledger) const override;
  void stop() override { run_->stop(); }
  void release() override { run_->release(); }

 private:
  ReplayRun(const RunInput& input, std::shared_ptr<Run> run) : input_(input), run_(std::move(run)) {}
  Status restore_given_buffer();
  ReplayState state_of(const Rehearsal& buffer) const;
  SourceFields source_fields() const;
  Result<Rehearsal> restored(const ReplayState& state) const;
  bool is_underrun_buffer() const { return options_.draws == 0; }

  const RunInput& input_;
  const std::shared_ptr<Run> run_;
  RehearsalOptions options_;
  int64_t replayed_ = 0;                          // replayed samples in each step of this rank
  std::string by_;                                // field that determines a sample's class; or ""
  std::string read_field_;                        // `by_` if a pass must read it; "" otherwise
  std::shared_ptr<ReplayRows> results_;           // null: replayed samples pass all steps again
  std::shared_ptr<const SampleClasses> classes_;  // null: no pass had to read classes
  std::shared_ptr<RunSamples> samples_;
  std::shared_ptr<ReplaySteps> steps_;
};

}  // namespace forebay
