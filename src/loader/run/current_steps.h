#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "pipeline/itinerary.h"

namespace forebay {

/// The steps of a data set whose plan may change while its run goes on. The run's owner replaces the
/// steps, lets the runner seek, which drops all steps that it had, and then calls resume(). No step
/// is given out in between, since the runner would take it for one of the plan that it still has.
class CurrentSteps final : public StepSource {
 public:
  explicit CurrentSteps(std::shared_ptr<IndexedItinerary> steps) : steps_(std::move(steps)) {}

  /// Pauses, too.
  void replace(std::shared_ptr<IndexedItinerary> steps) {
    const Lock lock(mutex_);
    paused_ = true;
    steps_.swap(steps);
  }
  void pause() { set_paused(true); }
  void resume() { set_paused(false); }

  std::shared_ptr<IndexedItinerary> steps() const {
    const Lock lock(mutex_);
    return steps_;
  }

  bool request_step(const Cursor& /*at*/) override {
    const Lock lock(mutex_);
    return !paused_;
  }
  std::optional<StepPlan> step(const Cursor& at) override {
    std::shared_ptr<IndexedItinerary> steps;
    {
      const Lock lock(mutex_);
      if (!paused_) steps = steps_;
    }
    return steps ? steps->step(at) : std::nullopt;
  }
  int64_t batch_size() const override { return steps()->batch_size(); }
  std::optional<int64_t> batches(const Cursor& at) const override { return steps()->batches(at); }
  bool epoch_over(const Cursor& at) const override { return steps()->epoch_over(at); }
  bool finished(const Cursor& at) const override { return steps()->finished(at); }
  int64_t replacements(size_t branch) const override { return steps()->replacements(branch); }
  int64_t replacement(const Row& row, int64_t attempt) const override { return steps()->replacement(row, attempt); }
  std::shared_ptr<const Order> order(size_t branch) const override { return steps()->order(branch); }
  Order::Use next_place(size_t branch, const Cursor& at) const override { return steps()->next_place(branch, at); }
  bool has_pass(size_t branch, int64_t pass) const override { return steps()->has_pass(branch, pass); }

 private:
  void set_paused(bool paused) {
    const Lock lock(mutex_);
    paused_ = paused;
  }

  mutable Mutex mutex_;
  bool paused_ FOREBAY_GUARDED_BY(mutex_) = false;
  std::shared_ptr<IndexedItinerary> steps_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
