#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/order.h"

namespace forebay {

class PackedWindows;

/// One row of a rank's batch. It says which sample it has, and why. A schedule knows the first
/// three members; a plan's steps (pipeline/itinerary.h) know all of them.
struct Row {
  int64_t position = 0;    ///< in the epoch
  int32_t occurrence = 0;  ///< earlier uses of the sample, so that a repeat has its own random numbers
  bool padding = false;    ///< a repeat, not counted as delivered
  bool replayed = false;   ///< a sample of an earlier step
  uint16_t branch = 0;     ///< branch of the execution plan, which is the leaf of the plan's tree
  int64_t id = 0;          ///< the sample, in the source of the branch
  /// Pass over the samples of the branch. Of a replayed row: the run's epoch in which it was new.
  int64_t pass = 0;
  int64_t place = 0;  ///< position in the branch's order of that pass. Not of a replayed row
  friend bool operator==(const Row&, const Row&) = default;
};

/// Divides the epochs of a plan into steps, and each step among the ranks of a job.
///
/// Its only input is a position: the number of samples of the epoch that are delivered. So a
/// schedule with another number of ranks continues at any position exactly where the previous one
/// stopped. Over all ranks each position of the epoch appears once without `padding` (except a
/// dropped tail). Every rank takes the same number of steps, with at least one row in each. Repeats
/// occur in the last step only, take positions from the epoch's beginning, and come last among a
/// rank's rows. Immutable; may be used from any thread.
class Schedule {
 public:
  virtual ~Schedule();
  /// Most rows that a rank has in one step.
  virtual int64_t most_rows() const = 0;
  /// True if a step begins at `at`. If none begins at the beginning of epoch 0, no epoch has any,
  /// unless positions count blocks().
  virtual bool has_step(const Order::Use& at) const = 0;
  /// Steps to the end of the epoch, the same on every rank. May take time for the whole epoch.
  virtual int64_t steps_left(const Order::Use& at) const = 0;
  /// The position after the step that begins at `at`.
  virtual int64_t next_position(const Order::Use& at) const = 0;
  /// Computes the rows of one rank in the step that begins at `at`. Replaces `out`, which is empty
  /// if no step is left. Positions of rows count in the order of delivery.
  virtual void rows(const Order::Use& at, int64_t rank, std::vector<Row>* out) const = 0;
  /// Replaces positions in the order of delivery by positions in the epochs of the plan.
  virtual void to_plan_positions(int64_t /*epoch*/, std::span<int64_t> /*positions*/) const {}
  /// The first position in the epoch of the plan that a step at `at` or later may have.
  virtual int64_t first_plan_position(const Order::Use& at) const { return at.position; }
  /// The packed blocks that positions count, if these are made of the samples of the whole plan. Null
  /// for all other schedules.
  virtual const PackedWindows* blocks() const { return nullptr; }
};

/// Position whose sample replaces the bad one at `position`: another position of [0, epoch_size),
/// or `position` itself if there is no other. The first epoch_size - 1 attempts give each other
/// position once.
int64_t replacement_position(uint64_t seed, int64_t epoch, int64_t position, int64_t attempt, int64_t epoch_size);

/// The same among the positions of `range`, which contains `position`. Used for chunked data.
int64_t replacement_position(uint64_t seed, int64_t epoch, int64_t position, int64_t attempt,
                             const Order::Range& range);

/// The same for an order. The first 50 attempts stay among the samples that are read together
/// (Order::read_together()), if there are as many others. If none of these is good, for example
/// because a whole row group is damaged, further attempts use the samples that the epoch reads
/// next: 16 of each chunk or block, lane after lane, and from the end of the epoch to its
/// beginning. A pure function of its arguments.
int64_t replacement_position(uint64_t seed, int64_t epoch, int64_t position, int64_t attempt, const Order& order);

}  // namespace forebay
