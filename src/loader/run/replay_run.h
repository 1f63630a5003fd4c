#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "loader/run/kept_rows.h"
#include "loader/run/run.h"
#include "loader/samples/sample_classes.h"
#include "plan/rehearsal.h"
#include "stream/rehearsal_itinerary.h"

namespace forebay {

/// A run whose steps have old samples in them, drawn from a replay buffer: those of a `.rehearse()`, behind the new ones
/// of each step, or those of a `.buffer(on_underrun="repeat")`, in the place of records that did not come in time. All else
/// is the run's that it decorates.
class ReplayRun final : public Run {
 public:
  /// InvalidArgument where the field that is to tell classes cannot, or the options' replay buffer is none.
  static Result<std::shared_ptr<ReplayRun>> open(const RunInput& input, std::shared_ptr<Run> run);

  std::shared_ptr<const Source> source() const override { return run_->source(); }
  bool passes() const override { return run_->passes() || !read_field_.empty(); }

  Status choose(RunSetup& setup) override;
  Status order(RunSetup& setup) override;
  Status open_steps(RunSetup& setup) override;
  std::shared_ptr<StepSource> steps() const override { return steps_; }
  void begin(const std::shared_ptr<Runner>& runner) override { run_->begin(runner); }

  int64_t size() const override { return run_->size(); }
  std::string choice() const override { return run_->choice(); }
  std::string shard_assignment() const override { return run_->shard_assignment(); }
  Result<EpochPlan> plan(int64_t epoch, int64_t rank, int64_t world_size, int64_t max_steps) const override {
    return run_->plan(epoch, rank, world_size, max_steps);
  }
  std::shared_ptr<RunSamples> samples(const SampleLabels& labels) override { return run_->samples(labels); }

  Status before_batch(const Cursor& at) override { return run_->before_batch(at); }
  void stands_at(const Cursor& at) override;

  void save(Checkpoint& state) const override;
  Result<GoOn> load(const Checkpoint& saved) override;
  bool is_endless() const override { return run_->is_endless(); }
  void pause() override;
  void go_elsewhere() override;
  Status write_journal(const std::string& path, const Cursor& at) override { return run_->write_journal(path, at); }

  void add_to(Ledger& ledger) const override;
  void stop() override { run_->stop(); }
  void release() override { run_->release(); }

 private:
  ReplayRun(const RunInput& input, std::shared_ptr<Run> run) : input_(input), run_(std::move(run)) {}
  Status begin_with_given();
  std::string to_json(const Rehearsal& kept) const;
  Result<Rehearsal> from_json(const std::string& json) const;

  const RunInput& input_;
  const std::shared_ptr<Run> run_;
  RehearsalOptions options_;
  int64_t old_ = 0;                               // samples of each step of this rank
  std::string by_, read_field_;                   // tells classes; the same where a pass has to read it
  std::shared_ptr<KeptRows> results_;             // null: old samples pass all steps again
  std::shared_ptr<const SampleClasses> classes_;  // null: nothing had to be read for them
  std::shared_ptr<RunSamples> samples_;
  std::shared_ptr<RehearsalItinerary> steps_;
};

}  // namespace forebay
