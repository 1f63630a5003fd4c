#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "pipeline/itinerary.h"
#include "plan/rehearsal.h"

namespace forebay {

/// The samples behind the steps of a run. ReplaySteps asks it for the new samples of each step, and
/// tells it which samples the replay buffer contains and which a step is about to use. Ids of
/// samples are those of the run, which may have several branches. ReplaySteps calls all methods,
/// most of them under its own lock.
class StepSamples {
 public:
  virtual ~StepSamples() = default;
  /// The new samples of a step over all ranks, in global order: their ids, and labels. An error ends
  /// the run.
  virtual Result<std::vector<Rehearsal::Sample>> new_samples(const StepPlan& step) const = 0;
  /// Gives a row that sample: sets its branch, and its id in the source of the branch.
  virtual void assign(int64_t id, Row& row) const { row.id = id; }
  /// Reports which of the new samples of a step enter the replay buffer. A source that gives each
  /// sample only once, such as a stream, retains them until release(). An error ends the run.
  virtual Status retain(std::span<const Rehearsal::Sample> /*fresh*/, std::span<const int64_t> /*entered*/) {
    return {};
  }
  /// Reports samples that have left the replay buffer: no later step has them.
  virtual void release(std::span<const int64_t> /*left*/) {}
  /// Begins to fetch the replayed samples of a step of this rank, if they are on other ranks. The
  /// run is notified when they have arrived. Does not wait.
  virtual void start_fetch(std::span<const int64_t> /*ids*/) {}
  /// Reports that the step with these replayed samples is delivered, or is planned anew.
  virtual void on_delivered(std::span<const int64_t> /*ids*/) {}
  /// Whether all of these samples can be read now. An error ends the run.
  virtual Result<bool> all_available(std::span<const int64_t> /*ids*/) const { return true; }
  /// The samples that are awaited, for the user's log; empty if there are none.
  virtual std::string awaited() const { return {}; }
};

/// Results that operators computed for samples when the samples were new. A result may be stored
/// exactly while its sample is in the replay buffer. ReplaySteps calls all methods, under its lock.
class ReplayResults {
 public:
  virtual ~ReplayResults() = default;
  /// Retains the results of these samples, which enter the buffer. A sample that is retained twice
  /// must be released twice.
  virtual void retain(std::span<const ReplaySample> entered) = 0;
  virtual void release(std::span<const ReplaySample> left) = 0;
  /// Retains the results of these samples and of no others.
  virtual void retain_only(std::span<const ReplaySample> buffer) = 0;
};

/// A decorator of a step source that adds replayed samples to its steps. Some replace records of a
/// stream that did not arrive in time. The others come after the new samples of each step and
/// before its padding; each rank gets an equal part of them.
///
/// The replayed samples of a step are drawn from the replay buffer as the previous step left it, so
/// the steps are a pure function of the samples so far. The class has the buffer twice: after the
/// planned steps, to draw from, and after the delivered steps, to save. Both take the same changes
/// in the same order.
///
/// Made by a ReplayRun and shared with its runner. May be used from any thread. It calls the
/// samples (except awaited()) and the results under its lock, and the decorated steps without it.
class ReplaySteps final : public StepSource {
 public:
  /// `replayed`: replayed samples of each step on this rank; `draws` of the options are those of
  /// all ranks. `results` may be null.
  ReplaySteps(std::shared_ptr<StepSource> steps, std::shared_ptr<StepSamples> samples, const RehearsalOptions& options,
              int64_t replayed, int64_t rank, std::shared_ptr<ReplayResults> results = nullptr);

  /// Makes step() return nothing until resume() or resume_with(): the run moves to another place.
  void pause();
  /// Continues the run, at another place, with that replay buffer. Called before the first step()
  /// there.
  void resume_with(Rehearsal buffer);
  /// Continues the run, at another place, with the replay buffer of the delivered steps.
  void resume();
  /// Reports that the batches before `at` are delivered.
  void delivered(const Cursor& at);
  /// The replay buffer after the delivered steps: part of a state.
  Rehearsal buffer() const;

  int64_t batch_size() const override { return steps_->batch_size() + replayed_; }
  std::optional<int64_t> batches(const Cursor& at) const override { return steps_->batches(at); }
  bool epoch_over(const Cursor& at) const override { return steps_->epoch_over(at); }
  bool finished(const Cursor& at) const override { return steps_->finished(at); }
  bool request_step(const Cursor& at) override;
  void set_awaited(const Cursor& at) override { steps_->set_awaited(at); }
  bool decide_now(const Cursor& at) override;
  std::optional<StepPlan> step(const Cursor& at) override;
  Status failure() const override;
  std::string awaited() const override;
  int64_t replacements(size_t branch) const override { return steps_->replacements(branch); }
  int64_t replacement(const Row& row, int64_t attempt) const override { return steps_->replacement(row, attempt); }
  std::shared_ptr<const Order> order(size_t branch) const override { return steps_->order(branch); }
  Order::Use next_place(size_t branch, const Cursor& at) const override { return steps_->next_place(branch, at); }
  bool has_pass(size_t branch, int64_t pass) const override { return steps_->has_pass(branch, pass); }

 private:
  struct Planned {
    StepPlan plan;
    std::vector<Rehearsal::Sample> fresh;
    std::vector<int64_t> replayed;  // ids of this rank's replayed samples
  };
  // A step that was requested and awaits remote samples.
  struct HeldUp {
    Cursor request;  // the place at which it was requested
    Cursor plan;     // its own place
  };
  void resume_locked(Rehearsal buffer) FOREBAY_REQUIRES(mutex_);
  void release_all_but(const Rehearsal& buffer) FOREBAY_REQUIRES(mutex_);
  const Planned* find_planned(const Cursor& at) const FOREBAY_REQUIRES(mutex_);
  const Planned* plan_new_step(StepPlan plan) FOREBAY_REQUIRES(mutex_);
  std::optional<StepPlan> plan_if_available(const Planned& step, const Cursor& at) FOREBAY_REQUIRES(mutex_);
  bool is_held_up(const Cursor& at) FOREBAY_REQUIRES(mutex_);
  std::vector<int64_t> add_replayed(StepPlan& plan) const FOREBAY_REQUIRES(mutex_);
  void replay(Row& row, const ReplaySample& sample, const Cursor& at) const;

  const std::shared_ptr<StepSource> steps_;
  const std::shared_ptr<StepSamples> samples_;
  const std::shared_ptr<ReplayResults> results_;
  const int64_t replayed_, rank_;
  mutable Mutex mutex_;
  Rehearsal planned_buffer_ FOREBAY_GUARDED_BY(mutex_);     // the buffer after all planned steps
  Rehearsal delivered_buffer_ FOREBAY_GUARDED_BY(mutex_);   // the buffer after the delivered steps
  std::deque<Planned> pending_ FOREBAY_GUARDED_BY(mutex_);  // the steps that are planned and not delivered
  std::optional<HeldUp> held_up_ FOREBAY_GUARDED_BY(mutex_);
  Status failure_ FOREBAY_GUARDED_BY(mutex_);
  bool paused_ FOREBAY_GUARDED_BY(mutex_) = false;
  std::atomic<uint64_t> resumes_ = 0;  // number of calls of resume() and resume_with()
};

}  // namespace forebay
