#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "forebay/status.h"
#include "plan/schedule.h"
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

/// Batches of one size. A global batch consists of the next batch_size × world_size positions of the
/// plan. Another batch size, too, continues at any position where the previous one stopped. The
/// steps of all epochs are alike.
class EqualBatches final : public Schedule {
 public:
  /// `options` must pass check().
  explicit EqualBatches(const ScheduleOptions& options,
                        std::shared_ptr<const ShardAssignment> assignment = assignment_by_count());

  const ScheduleOptions& options() const { return options_; }
  /// The steps of an epoch from a position on. kDrop may give 0 before the epoch's last position;
  /// the epoch is over nevertheless.
  int64_t steps_left(int64_t position) const;
  int64_t steps() const { return steps_left(0); }
  int64_t next_position(int64_t position) const;
  /// The slots that the step divides, for callers that use a shard assignment directly.
  GlobalBatch global_batch(const Order::Use& at) const;

  int64_t most_rows() const override { return options_.batch_size; }
  bool has_step(const Order::Use& at) const override { return steps_left(at.position) > 0; }
  int64_t steps_left(const Order::Use& at) const override { return steps_left(at.position); }
  int64_t next_position(const Order::Use& at) const override { return next_position(at.position); }
  /// The rows of all ranks together do not depend on the epoch; their division does if the shard
  /// assignment looks at the samples.
  void rows(const Order::Use& at, int64_t rank, std::vector<Row>* out) const override;

 private:
  Row row(const GlobalBatch& batch, int64_t slot) const;

  ScheduleOptions options_;
  int64_t global_batch_size_;
  std::shared_ptr<const ShardAssignment> assignment_;
};

}  // namespace forebay
