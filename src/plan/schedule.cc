#include "plan/schedule.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "plan/permutation.h"

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

Schedule::Schedule(const ScheduleOptions& options, std::shared_ptr<const ShardAssignment> assignment)
    : options_(options), global_batch_size_(options.batch_size * options.world_size),
      assignment_(std::move(assignment)) {
  assert(options.check().ok());
}

int64_t Schedule::steps_left(int64_t position) const {
  const int64_t left = std::max<int64_t>(options_.epoch_size - position, 0);
  const int64_t full = left / global_batch_size_;
  return options_.last == LastPolicy::kDrop || left % global_batch_size_ == 0 ? full : full + 1;
}

int64_t Schedule::next_position(int64_t position) const {
  if (options_.epoch_size - position <= global_batch_size_) return options_.epoch_size;
  return position + global_batch_size_;
}

GlobalBatch Schedule::global_batch(const Order::Use& at) const {
  GlobalBatch batch;
  batch.epoch = at.epoch;
  batch.position = at.position;
  batch.samples = std::min(options_.epoch_size - at.position, global_batch_size_);
  // Every rank gets at least one row, so that none misses a collective step.
  batch.slots = options_.last == LastPolicy::kPad ? global_batch_size_ : std::max(batch.samples, options_.world_size);
  batch.world_size = options_.world_size;
  return batch;
}

Row Schedule::row(const GlobalBatch& batch, int64_t slot) const {
  if (slot < batch.samples) return {batch.position + slot, 0, false};
  // At the end of the epoch each position has been used once, so its first repeat has occurrence 1.
  const int64_t repeat = slot - batch.samples;
  return {repeat % options_.epoch_size, static_cast<int32_t>(1 + repeat / options_.epoch_size), true};
}

void Schedule::rows(const Order::Use& at, int64_t rank, std::vector<Row>* out) const {
  assert(at.position >= 0 && rank >= 0 && rank < options_.world_size);
  out->clear();
  if (steps_left(at.position) == 0) return;
  const GlobalBatch batch = global_batch(at);
  std::vector<int64_t> slots;
  assignment_->slots(batch, rank, &slots);
  out->reserve(slots.size());
  for (int64_t slot : slots) out->push_back(row(batch, slot));
}

int64_t replacement_position(uint64_t seed, int64_t epoch, int64_t position, int64_t attempt, int64_t epoch_size) {
  return replacement_position(seed, epoch, position, attempt, Order::Range{0, 1, epoch_size});
}

int64_t replacement_position(uint64_t seed, int64_t epoch, int64_t position, int64_t attempt,
                             const Order::Range& range) {
  assert(attempt >= 0 && range.count >= 1);
  const int64_t others = range.count - 1;
  if (others == 0) return position;
  // A permutation of the other positions: no attempt returns to a bad one before all have been
  // tried.
  const PermutationKey key = PermutationKey::root(seed, PermutationKey::Use::kReplacement).child(epoch).child(position);
  const int64_t drawn = Permutation(others, key).at(attempt % others);
  const int64_t own = (position - range.first) / range.step;
  return range.first + range.step * (drawn < own ? drawn : drawn + 1);
}

namespace {

constexpr int64_t kNear = 50, kElsewhere = 16;  // attempts in one place

// The samples that are read after `range`, lane after lane.
Order::Range read_next(const Order& order, int64_t epoch, const Order::Range& range) {
  const int64_t next = range.first + range.step * range.count, lane = range.first % range.step;
  if (next < order.size()) return order.read_together(epoch, next);
  const int64_t other = (lane + 1) % range.step;
  return order.read_together(epoch, other < order.size() ? other : 0);
}

}  // namespace

int64_t replacement_position(uint64_t seed, int64_t epoch, int64_t position, int64_t attempt, const Order& order) {
  const Order::Range own = order.read_together(epoch, position);
  const int64_t near = std::min(own.count - 1, kNear);
  if (attempt < near || own.count == order.size()) return replacement_position(seed, epoch, position, attempt, own);
  const PermutationKey key = PermutationKey::root(seed, PermutationKey::Use::kReplacement).child(epoch).child(position);
  int64_t left = attempt - near;
  for (Order::Range there = read_next(order, epoch, own);; there = read_next(order, epoch, there)) {
    // Terminates: own.count is not the whole order, so some other range has rows, and each of these
    // reduces `left`.
    if (there.first == own.first) continue;
    const int64_t tried = std::min(there.count, kElsewhere);
    if (left < tried) return there.first + there.step * Permutation(there.count, key.child(there.first)).at(left);
    left -= tried;
  }
}

}  // namespace forebay
