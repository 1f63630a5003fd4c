#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "forebay/status.h"
#include "plan/deal.h"
#include "plan/order.h"

namespace forebay {

/// What becomes of the epoch's last samples when they do not fill a global batch.
enum class LastPolicy : uint8_t {
  kPartial,  ///< dealt out in sizes that differ by one at most; a rank that would get nothing gets one repeat
  kDrop,     ///< left out
  kPad,      ///< filled up to a whole batch with repeats
};

struct ScheduleOptions {
  int64_t epoch_size = 0;
  int64_t batch_size = 1;  ///< per rank
  int64_t world_size = 1;
  LastPolicy last = LastPolicy::kPartial;

  /// InvalidArgument unless epoch_size is 0 or larger, the other two 1 or larger, and batch_size × world_size below
  /// 2^31.
  Status check() const;
};

/// One row of a rank's batch: the sample at `position` of the epoch's order. `occurrence` counts how often that
/// position was used before in the epoch, so a repeat has random numbers of its own.
struct Row {
  int64_t position = 0;
  int32_t occurrence = 0;
  bool padding = false;  ///< a repeat, not counted as delivered
  friend bool operator==(const Row&, const Row&) = default;
};

/// Which rows each rank gets at each step of an epoch.
///
/// The only state is the position: how many samples of the epoch's order are behind. A global batch is the next
/// batch_size × world_size positions, so a schedule with other ranks or another batch size goes on from any position
/// exactly where the last one stopped. Over all ranks each position of the epoch appears once without `padding` (but
/// for a dropped tail), and every rank takes the same number of steps with at least one row in each. Repeats only occur
/// in the last step, take positions from the epoch's beginning, and stand at the end of a rank's rows.
class Schedule {
 public:
  /// `options` must pass check().
  explicit Schedule(const ScheduleOptions& options, std::shared_ptr<const Deal> deal = deal_by_count());

  const ScheduleOptions& options() const { return options_; }
  /// Steps until the end of the epoch, the same on every rank. With kDrop it may be 0 before the epoch's last position;
  /// the epoch is over all the same.
  int64_t steps_left(int64_t position) const;
  int64_t steps() const { return steps_left(0); }
  /// The position after the step that begins at `position`.
  int64_t next_position(int64_t position) const;
  /// The rows of one rank in the step that begins at a place. `out` is replaced; it stays empty when no step is left. Which rows all
  /// ranks get together does not depend on the epoch; which of them gets which does where the deal looks at the samples.
  void rows(const Order::Use& at, int64_t rank, std::vector<Row>* out) const;
  /// The slots that the step divides, for whoever asks a deal himself.
  GlobalBatch global_batch(const Order::Use& at) const;

 private:
  Row row(const GlobalBatch& batch, int64_t slot) const;

  ScheduleOptions options_;
  int64_t global_batch_size_;
  std::shared_ptr<const Deal> deal_;
};

/// The position whose sample stands in for a bad one at `position`: another one of [0, epoch_size), or itself when
/// there is no other. The first epoch_size - 1 attempts give each other position once.
int64_t replacement_position(uint64_t seed, int64_t epoch, int64_t position, int64_t attempt, int64_t epoch_size);

/// The same among the positions of `range`, which has `position` in it, for chunked data.
int64_t replacement_position(uint64_t seed, int64_t epoch, int64_t position, int64_t attempt,
                             const Order::Range& range);

/// The same for an order: the first 50 attempts stay among what is read together (Order::read_together()), where there are so
/// many others. When none of these will do, as where a row group is damaged as a whole, they come from what is read next in the
/// epoch, 16 of each chunk or block, lane after lane and round to the epoch's beginning. A pure function of its arguments.
int64_t replacement_position(uint64_t seed, int64_t epoch, int64_t position, int64_t attempt, const Order& order);

}  // namespace forebay
