#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plan/equal_batches.h"
#include "plan/packed_windows.h"
#include "plan/schedule.h"

namespace forebay {

/// Batches of one size of the blocks of PackedWindows. Positions count these blocks. Each epoch is
/// divided as EqualBatches divides one with that number of blocks, so epochs may have different
/// numbers of steps. Under LastPolicy::kDrop, an epoch with fewer blocks than a global batch has no
/// step.
class PackedBatches final : public Schedule {
 public:
  /// `options` must pass check(). Their epoch_size is not used.
  PackedBatches(std::shared_ptr<const PackedWindows> windows, const ScheduleOptions& options);

  int64_t most_rows() const override { return options_.batch_size; }
  bool has_step(const Order::Use& at) const override { return batches_from(at).has_step(at); }
  /// Plans all windows of the epoch that are not counted yet.
  int64_t steps_left(const Order::Use& at) const override;
  int64_t next_position(const Order::Use& at) const override { return batches_from(at).next_position(at); }
  void rows(const Order::Use& at, int64_t rank, std::vector<Row>* out) const override {
    batches_from(at).rows(at, rank, out);
  }
  int64_t first_plan_position(const Order::Use& at) const override {
    return windows_->first_position(at.epoch, at.position);
  }
  const PackedWindows* blocks() const override { return windows_.get(); }

 private:
  EqualBatches batches_of(int64_t blocks) const;
  EqualBatches batches_from(const Order::Use& at) const;

  const std::shared_ptr<const PackedWindows> windows_;
  const ScheduleOptions options_;
};

}  // namespace forebay
