#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "pipeline/itinerary.h"

namespace forebay {

/// The steps of a data set whose plan may change while its run goes on. The run's owner replaces the
/// steps and then lets the runner seek, which drops all steps that it had; so no answer mixes two
/// plans.
class CurrentSteps final : public StepSource {
 public:
  explicit CurrentSteps(std::shared_ptr<IndexedItinerary> steps) : steps_(std::move(steps)) {}

  void replace(std::shared_ptr<IndexedItinerary> steps) {
    const Lock lock(mutex_);
    steps_.swap(steps);
  }

  std::shared_ptr<IndexedItinerary> steps() const {
    const Lock lock(mutex_);
    return steps_;
  }

  std::optional<StepPlan> step(const Cursor& at) override { return steps()->step(at); }
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
  mutable Mutex mutex_;
  std::shared_ptr<IndexedItinerary> steps_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
