#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "pipeline/itinerary.h"

namespace forebay {

/// Steps of a data set whose items depend on the epoch. The steps of an epoch become available once
/// the trainer waits for the first of them, so no epoch is read ahead while an earlier one runs.
class EpochByEpoch final : public StepSource {
 public:
  explicit EpochByEpoch(std::shared_ptr<StepSource> steps) : steps_(std::move(steps)) {}

  bool request_step(const Cursor& at) override { return at.epoch == epoch_; }
  void set_awaited(const Cursor& at) override { epoch_ = at.epoch; }
  std::optional<StepPlan> step(const Cursor& at) override { return steps_->step(at); }

  int64_t batch_size() const override { return steps_->batch_size(); }
  std::optional<int64_t> batches(const Cursor& at) const override { return steps_->batches(at); }
  bool epoch_over(const Cursor& at) const override { return steps_->epoch_over(at); }
  bool finished(const Cursor& at) const override { return steps_->finished(at); }
  std::vector<int64_t> indices(const StepPlan& step) const override { return steps_->indices(step); }
  int64_t index(const StepPlan& step, int64_t row) const override { return steps_->index(step, row); }
  int64_t replacements() const override { return steps_->replacements(); }
  int64_t replacement(int64_t epoch, int64_t position, int64_t attempt) const override {
    return steps_->replacement(epoch, position, attempt);
  }
  std::shared_ptr<const Order> order() const override { return steps_->order(); }

 private:
  const std::shared_ptr<StepSource> steps_;
  std::atomic<int64_t> epoch_ = -1;  ///< epoch that the trainer has begun
};

}  // namespace forebay
