#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "plan/bucket_rules.h"
#include "plan/bucket_window.h"
#include "plan/node.h"
#include "plan/schedule.h"

namespace forebay {

struct BucketingOptions {
  BucketRules rules = {};
  int64_t window = 1;  ///< positions whose samples are sorted together; windows may be up to twice as long
  int64_t group = 1;   ///< batches of like cost that follow each other, see arrange_batches()
  uint64_t seed = 0;
  bool repeats = false;  ///< an epoch may have a sample several times
};

/// The positions that are sorted together: enough for `groups` groups of batches of the mean size,
/// and at most 2^20.
int64_t window_of_groups(const BucketRules& rules, std::span<const SampleLengths> lengths, int64_t group,
                         int64_t groups);

/// Batches of samples of like lengths, as many as fit a budget.
///
/// Each epoch of the plan is cut into windows of equal length. A window becomes a sequence of
/// batches (plan_window()), which follows from the lengths, the seed and the epoch alone. That is
/// the order of delivery. A step takes the next batches of the sequence, one for each rank, so that
/// any number of ranks goes on at any position. If the last step of an epoch has fewer batches than
/// ranks, these are divided.
///
/// Memory: a float a sample, which the caller shares, and 4 bytes a sample of the last four windows;
/// 24 bytes a sample of a window while it is planned.
class BucketedBatches final : public Schedule {
 public:
  /// `lengths`: by leaf of the plan, then by index in the order of the leaf.
  BucketedBatches(std::shared_ptr<const PlanNode> plan, std::vector<SampleLengths> lengths, BucketingOptions options,
                  int64_t world_size);

  int64_t most_rows() const override { return most_rows_; }
  bool has_step(const Order::Use& at) const override { return at.position < plan_->size(); }
  /// Plans all windows of the epoch that are not counted yet.
  int64_t steps_left(const Order::Use& at) const override;
  int64_t next_position(const Order::Use& at) const override;
  void rows(const Order::Use& at, int64_t rank, std::vector<Row>* out) const override;
  void to_plan_positions(int64_t epoch, std::span<int64_t> positions) const override;
  int64_t first_plan_position(const Order::Use& at) const override;

 private:
  struct Planned {
    int64_t epoch = 0, number = 0;
    int64_t begin = 0;  // first position
    BucketWindow window;

    int64_t end() const { return begin + static_cast<int64_t>(window.samples.size()); }
  };

  std::shared_ptr<const Planned> window_holding(int64_t epoch, int64_t position) const;
  std::shared_ptr<const Planned> window(int64_t epoch, int64_t number) const;
  std::shared_ptr<const Planned> plan(int64_t epoch, int64_t number) const;
  std::vector<float> lengths_of(int64_t epoch, int64_t begin, int64_t count) const;
  std::vector<int64_t> ends_of_batches(const Order::Use& at) const;
  int64_t batches_in(int64_t epoch, int64_t number) const;

  const std::shared_ptr<const PlanNode> plan_;
  const std::vector<SampleLengths> lengths_;
  const BucketingOptions options_;
  const PermutationKey key_;
  const int64_t world_size_, windows_;
  const int64_t most_rows_;
  mutable Mutex mutex_;
  // The windows that were asked for last, the newest first.
  mutable std::array<std::shared_ptr<const Planned>, 4> recent_ FOREBAY_GUARDED_BY(mutex_);
  // Batches of the windows of one epoch; 0 for those that are not planned yet.
  mutable int64_t counted_epoch_ FOREBAY_GUARDED_BY(mutex_) = -1;
  mutable std::vector<uint32_t> counts_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
