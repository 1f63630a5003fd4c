#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "forebay/status.h"
#include "plan/order.h"
#include "plan/shard_assignment.h"

namespace forebay {

/// Treatment of an epoch's last samples if they do not fill a global batch.
enum class LastPolicy : uint8_t {
  /// Divided among the ranks in sizes that differ by at most one. A rank without a sample gets one
  /// repeat.
  kPartial,
  kDrop,  ///< dropped
  kPad,   ///< filled up to a whole batch with repeats
};

struct ScheduleOptions {
  int64_t epoch_size = 0;
  int64_t batch_size = 1;  ///< per rank
  int64_t world_size = 1;
  LastPolicy last = LastPolicy::kPartial;

  /// InvalidArgument unless epoch_size is at least 0, the other two are at least 1, and batch_size
  /// × world_size is below 2^31.
  Status check() const;
};

/// One row of a rank's batch. It says which sample it has, and why. A schedule knows the first
/// three members; a plan's steps (pipeline/itinerary.h) know all of them.
struct Row {
  int64_t position = 0;    ///< in the epoch
  int32_t occurrence = 0;  ///< earlier uses of the sample, so that a repeat has its own random numbers
  bool padding = false;    ///< a repeat, not counted as delivered
  bool replayed = false;   ///< a sample of an earlier step
  uint16_t branch = 0;     ///< branch of the execution plan, which is the leaf of the plan's tree
  int64_t id = 0;          ///< the sample, in the source of the branch
  /// Pass over the samples of the branch. Of a replayed row: the one in which it was new.
  int64_t pass = 0;
  int64_t place = 0;  ///< position in the branch's order of that pass. Not of a replayed row
  friend bool operator==(const Row&, const Row&) = default;
};

/// Computes the rows of each rank at each step of an epoch.
///
/// Its only input is the position: the number of samples of the epoch's order that are delivered. A
/// global batch consists of the next batch_size × world_size positions. So a schedule with another
/// number of ranks or another batch size continues at any position exactly where the previous one
/// stopped. Over all ranks each position of the epoch appears once without `padding` (except a
/// dropped tail). Every rank takes the same number of steps, with at least one row in each. Repeats
/// occur in the last step only, take positions from the epoch's beginning, and come last among a
/// rank's rows. Immutable; may be used from any thread.
class Schedule {
 public:
  /// `options` must pass check().
  explicit Schedule(const ScheduleOptions& options,
                    std::shared_ptr<const ShardAssignment> assignment = assignment_by_count());

  const ScheduleOptions& options() const { return options_; }
  /// Steps to the end of the epoch, the same on every rank. kDrop may give 0 before the epoch's
  /// last position; the epoch is over nevertheless.
  int64_t steps_left(int64_t position) const;
  int64_t steps() const { return steps_left(0); }
  /// The position after the step that begins at `position`.
  int64_t next_position(int64_t position) const;
  /// Computes the rows of one rank in the step that begins at `at`. Replaces `out`, which is empty
  /// if no step is left. The rows of all ranks together do not depend on the epoch; their division
  /// does if the shard assignment looks at the samples.
  void rows(const Order::Use& at, int64_t rank, std::vector<Row>* out) const;
  /// The slots that the step divides, for callers that use a shard assignment directly.
  GlobalBatch global_batch(const Order::Use& at) const;

 private:
  Row row(const GlobalBatch& batch, int64_t slot) const;

  ScheduleOptions options_;
  int64_t global_batch_size_;
  std::shared_ptr<const ShardAssignment> assignment_;
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
