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

  bool request_step(const Cursor& at) override { return at.epoch == epoch_ && steps_->request_step(at); }
  void set_awaited(const Cursor& at) override { epoch_ = at.epoch; }
  std::optional<StepPlan> step(const Cursor& at) override { return steps_->step(at); }

  int64_t batch_size() const override { return steps_->batch_size(); }
  std::optional<int64_t> batches(const Cursor& at) const override { return steps_->batches(at); }
  bool epoch_over(const Cursor& at) const override { return steps_->epoch_over(at); }
  bool finished(const Cursor& at) const override { return steps_->finished(at); }
  int64_t replacements(size_t branch) const override { return steps_->replacements(branch); }
  int64_t replacement(const Row& row, int64_t attempt) const override { return steps_->replacement(row, attempt); }
  std::shared_ptr<const Order> order(size_t branch) const override { return steps_->order(branch); }
  Order::Use next_place(size_t branch, const Cursor& at) const override { return steps_->next_place(branch, at); }
  bool has_pass(size_t branch, int64_t pass) const override { return steps_->has_pass(branch, pass); }

 private:
  const std::shared_ptr<StepSource> steps_;
  std::atomic<int64_t> epoch_ = -1;  ///< epoch that the trainer has begun
};

}  // namespace forebay
