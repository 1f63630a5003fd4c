#include "plan/packed_batches.h"

#include <utility>

namespace forebay {

PackedBatches::PackedBatches(std::shared_ptr<const PackedWindows> windows, const ScheduleOptions& options)
    : windows_(std::move(windows)), options_(options) {}

int64_t PackedBatches::steps_left(const Order::Use& at) const {
  return batches_of(windows_->size(at.epoch)).steps_left(at);
}

EqualBatches PackedBatches::batches_of(int64_t blocks) const {
  ScheduleOptions options = options_;
  options.epoch_size = blocks;
  return EqualBatches(options);
}

// The batches of an epoch as they are at this step. Where a whole global batch is left, the blocks
// behind it do not matter, and their windows are not planned.
EqualBatches PackedBatches::batches_from(const Order::Use& at) const {
  return batches_of(windows_->count_blocks(at.epoch, at.position + options_.batch_size * options_.world_size));
}

}  // namespace forebay
