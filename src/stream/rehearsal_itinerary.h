#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/itinerary.h"
#include "plan/rehearsal.h"

namespace forebay {

/// The samples of steps over all ranks, for who keeps some of them.
class StepSamples {
 public:
  virtual ~StepSamples() = default;
  /// The new samples of a step in global order: their ids in the source, and labels. An error ends
  /// the run.
  virtual Result<std::vector<Rehearsal::Sample>> of(const StepPlan& step) const = 0;
  /// Samples of a step that are kept from now on, and such that nobody will ask for again: for
  /// sources that have a sample once only. An error ends the run.
  virtual Status keep(const StepPlan& /*step*/, std::span<const int64_t> /*entered*/) { return {}; }
  virtual void let_go(std::span<const int64_t> /*left*/) {}
  /// Old samples that a step of this rank has, until it is behind: what is elsewhere is brought,
  /// and the run is told when it is here.
  virtual void bring(std::span<const int64_t> /*ids*/) {}
  virtual void give_back(std::span<const int64_t> /*ids*/) {}
  /// All of them can be read. An error ends the run.
  virtual Result<bool> here(std::span<const int64_t> /*ids*/) const { return true; }
  /// The samples that are waited for, for the log; empty: none.
  virtual std::string awaited() const { return {}; }
};

/// Who has what steps made of samples while these were new: of those that are kept, and of no
/// others.
class ReplayResults {
 public:
  virtual ~ReplayResults() = default;
  /// These are kept from now on, once more each.
  virtual void hold(std::span<const ReplaySample> entered) = 0;
  virtual void let_go(std::span<const ReplaySample> left) = 0;
  /// These are kept, and no others.
  virtual void hold_only(std::span<const ReplaySample> kept) = 0;
};

/// Steps with old samples in them: where a stream had no new ones in time, in their place; and
/// behind the new ones of each step (and before what only fills it up) come some that a Rehearsal
/// kept, dealt to the ranks in equal parts. A step's old samples are drawn from what was kept of
/// the steps before it.
class RehearsalItinerary final : public StepSource {
 public:
  /// `replayed`: samples of each step on this rank; `draws` of the options are those of all ranks.
  /// `results`: null where nobody has any.
  RehearsalItinerary(std::shared_ptr<StepSource> steps, std::shared_ptr<StepSamples> samples,
                     const RehearsalOptions& options, int64_t replayed, int64_t rank,
                     std::shared_ptr<ReplayResults> results = nullptr);

  /// No step is known from here on, until the run goes on: what is being planned is of the place
  /// before.
  void pause();
  /// The run goes on somewhere, with that kept. Before the first step() there.
  void begin_with(Rehearsal kept);
  /// The same with what is kept of the steps that are delivered.
  void begin_elsewhere();
  /// The batches before `at` are delivered.
  void delivered(const Cursor& at);
  /// The replay buffer after the steps that are delivered: part of a state.
  Rehearsal kept() const;

  int64_t batch_size() const override { return steps_->batch_size() + replayed_; }
  std::optional<int64_t> batches(const Cursor& at) const override { return steps_->batches(at); }
  bool epoch_over(const Cursor& at) const override { return steps_->epoch_over(at); }
  bool finished(const Cursor& at) const override { return steps_->finished(at); }
  bool known(const Cursor& at) override;
  void awaits(const Cursor& at) override { steps_->awaits(at); }
  bool hurry(const Cursor& at) override;
  std::optional<StepPlan> step(const Cursor& at) override;
  Status failure() const override;
  std::string awaited() const override;
  std::vector<int64_t> indices(const StepPlan& step) const override;
  int64_t index(const StepPlan& step, int64_t row) const override;
  int64_t replacements() const override { return steps_->replacements(); }
  int64_t replacement(int64_t epoch, int64_t position, int64_t attempt) const override {
    return steps_->replacement(epoch, position, attempt);
  }
  std::shared_ptr<const Order> order() const override { return steps_->order(); }

 private:
  struct Planned {
    StepPlan plan;
    std::vector<Rehearsal::Sample> fresh;
    std::vector<int64_t> replayed;  // those of this rank
  };
  void begin_locked(Rehearsal kept);
  void let_go_of_others(const Rehearsal& kept);
  std::optional<StepPlan> once_here(const Planned& step);
  void add_replayed(StepPlan& plan) const;
  void fill_vacant(StepPlan& plan, std::span<const ReplaySample> drawn) const;

  const std::shared_ptr<StepSource> steps_;
  const std::shared_ptr<StepSamples> samples_;
  const std::shared_ptr<ReplayResults> results_;
  const int64_t replayed_, rank_;
  mutable std::mutex mutex_;
  Rehearsal planned_;              // of all steps that were planned
  Rehearsal kept_;                 // of those that are delivered
  std::deque<Planned> pending_;    // between the two
  std::optional<Cursor> held_up_;  // the place of the last of them, while old samples of it are elsewhere
  Status failure_;
  bool paused_ = false;
  std::atomic<uint64_t> begun_ = 0;  // how often it went on somewhere
};

}  // namespace forebay
