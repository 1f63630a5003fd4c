#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "plan/bucketed_batches.h"
#include "plan/equal_batches.h"
#include "plan/node.h"

namespace forebay {

/// The first use of a sample in a plan.
struct FirstUse {
  int64_t index = 0;  ///< the sample, in the order of its leaf
  Order::Use at;      ///< position in the plan
};

/// Returns the first use of a leaf's sample at a position or later. Nothing if it is never used.
/// `index` is an id of the leaf's order.
std::optional<FirstUse> first_use(const PlanNode& plan, size_t leaf, int64_t index, const Order::Use& since);

/// Which rank gets each sample first in a run from the beginning, and so computes and caches it.
/// Implemented for each way to divide steps among ranks. An estimate: the rank differs if a run was
/// resumed inside an epoch, and for some rows at the end of an epoch. May be used from any thread.
class FirstRanks {
 public:
  static constexpr int64_t kUnknown = -1;
  struct Delivery {
    int64_t rank = kUnknown;
    int64_t position = 0;  ///< in the epoch, in the order of delivery
  };

  virtual ~FirstRanks() = default;
  virtual Delivery of(const FirstUse& use) const = 0;
};

/// For steps of one size that are divided by count, or by lane if there are lanes. Also for
/// assignments by locality that have a placement, since these divide the first epoch by count.
std::shared_ptr<const FirstRanks> first_ranks_by_position(const ScheduleOptions& options, int64_t lanes = 1);
/// For steps of one size, and any assignment. Takes time for a whole global batch.
std::shared_ptr<const FirstRanks> first_ranks_by_batch(const ScheduleOptions& options,
                                                       std::shared_ptr<const ShardAssignment> assignment);
/// For an assignment by home: the home of the sample.
std::shared_ptr<const FirstRanks> first_ranks_by_home(int64_t world_size);
/// For batches of like lengths, one after another for each rank. The first call plans the first
/// epoch; 4 bytes a sample of that. Samples that come later for the first time are of an unknown
/// rank.
std::shared_ptr<const FirstRanks> first_ranks_by_lengths(std::shared_ptr<const PlanNode> plan,
                                                         std::vector<SampleLengths> lengths,
                                                         const BucketingOptions& options, int64_t world_size);

}  // namespace forebay
