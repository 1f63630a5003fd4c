#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "loader/run/run.h"
#include "loader/run/sample_labels.h"

namespace forebay {

/// A run that adds something to another run. All calls are forwarded to that run, except those that
/// a derived class overrides.
class RunDecorator : public Run {
 public:
  std::shared_ptr<const Source> source() const override { return run_->source(); }
  bool needs_pass() const override { return run_->needs_pass(); }

  Status choose(RunSetup& setup) override { return run_->choose(setup); }
  Status order(RunSetup& setup) override { return run_->order(setup); }
  Status open_steps(RunSetup& setup) override { return run_->open_steps(setup); }
  std::shared_ptr<StepSource> steps() const override { return run_->steps(); }
  void begin(const std::shared_ptr<Runner>& runner) override { run_->begin(runner); }

  int64_t size() const override { return run_->size(); }
  int64_t last_epoch() const override { return run_->last_epoch(); }
  Cursor earliest() const override { return run_->earliest(); }
  std::string changes_version() const override { return run_->changes_version(); }
  int64_t passes_before(size_t branch, const Cursor& at) const override { return run_->passes_before(branch, at); }
  std::string selection_version() const override { return run_->selection_version(); }
  std::string shard_assignment() const override { return run_->shard_assignment(); }
  Result<EpochPlan> plan(int64_t epoch, int64_t rank, int64_t world_size, int64_t max_steps) const override {
    return run_->plan(epoch, rank, world_size, max_steps);
  }
  std::shared_ptr<RunSamples> samples(std::vector<SampleLabels> labels) override {
    return run_->samples(std::move(labels));
  }

  Status before_batch(const Cursor& at) override { return run_->before_batch(at); }
  void advanced_to(const Cursor& at) override { run_->advanced_to(at); }

  void save(Checkpoint& state) const override { run_->save(state); }
  Result<Resume> change(const PlanEdit& edit, const Cursor& at) override { return run_->change(edit, at); }
  Result<Checkpoint> with_changed_parts(const Checkpoint& saved) const override {
    return run_->with_changed_parts(saved);
  }
  std::vector<SavedPart> parts() const override { return run_->parts(); }

  Result<Resume> load(const Checkpoint& saved) override { return run_->load(saved); }
  bool is_endless() const override { return run_->is_endless(); }
  void pause() override { run_->pause(); }
  void resume_at_epoch() override { run_->resume_at_epoch(); }
  Status write_journal(const std::string& path, const Cursor& at) override { return run_->write_journal(path, at); }

  void add_to(Ledger& ledger) const override { run_->add_to(ledger); }
  void stop() override { run_->stop(); }
  void release() override { run_->release(); }

 protected:
  explicit RunDecorator(std::shared_ptr<Run> run) : run_(std::move(run)) {}

  const std::shared_ptr<Run> run_;
};

}  // namespace forebay
