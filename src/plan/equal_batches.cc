#include "plan/equal_batches.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace forebay {

Status ScheduleOptions::check() const {
  if (epoch_size < 0)
    return invalid_argument("epoch_size is " + std::to_string(epoch_size) + "; it cannot be negative");
  if (batch_size < 1)
    return invalid_argument("batch size is " + std::to_string(batch_size) + "; it must be 1 or larger");
  if (world_size < 1)
    return invalid_argument("world_size is " + std::to_string(world_size) + "; it must be 1 or larger");
  // Divides, so that the product cannot overflow before the check.
  if (batch_size > INT32_MAX / world_size) {
    return invalid_argument("batch size " + std::to_string(batch_size) + " times world_size " +
                            std::to_string(world_size) + " is 2^31 or more; make the batch smaller");
  }
  return {};
}

EqualBatches::EqualBatches(const ScheduleOptions& options, std::shared_ptr<const ShardAssignment> assignment)
    : options_(options), global_batch_size_(options.batch_size * options.world_size),
      assignment_(std::move(assignment)) {
  assert(options.check().ok());
}

int64_t EqualBatches::steps_left(int64_t position) const {
  const int64_t left = std::max<int64_t>(options_.epoch_size - position, 0);
  const int64_t full = left / global_batch_size_;
  return options_.last == LastPolicy::kDrop || left % global_batch_size_ == 0 ? full : full + 1;
}

int64_t EqualBatches::next_position(int64_t position) const {
  if (options_.epoch_size - position <= global_batch_size_) return options_.epoch_size;
  return position + global_batch_size_;
}

GlobalBatch EqualBatches::global_batch(const Order::Use& at) const {
  GlobalBatch batch;
  batch.epoch = at.epoch;
  batch.position = at.position;
  batch.samples = std::min(options_.epoch_size - at.position, global_batch_size_);
  // Every rank gets at least one row, so that none misses a collective step.
  batch.slots = options_.last == LastPolicy::kPad ? global_batch_size_ : std::max(batch.samples, options_.world_size);
  batch.world_size = options_.world_size;
  return batch;
}

Row EqualBatches::row(const GlobalBatch& batch, int64_t slot) const {
  if (slot < batch.samples) return {batch.position + slot, 0, false};
  // At the end of the epoch each position has been used once, so its first repeat has occurrence 1.
  const int64_t repeat = slot - batch.samples;
  return {repeat % options_.epoch_size, static_cast<int32_t>(1 + repeat / options_.epoch_size), true};
}

void EqualBatches::rows(const Order::Use& at, int64_t rank, std::vector<Row>* out) const {
  assert(at.position >= 0 && rank >= 0 && rank < options_.world_size);
  out->clear();
  if (steps_left(at.position) == 0) return;
  const GlobalBatch batch = global_batch(at);
  std::vector<int64_t> slots;
  assignment_->slots(batch, rank, &slots);
  out->reserve(slots.size());
  for (int64_t slot : slots) out->push_back(row(batch, slot));
}

}  // namespace forebay
