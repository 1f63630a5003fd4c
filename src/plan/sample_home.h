#pragma once

#include <cstdint>
#include <memory>

#include "plan/philox.h"
#include "plan/shard_assignment.h"

namespace forebay {

class PlanNode;

/// The home of a sample: one of the ranks, by a hash of its index in the order of its leaf. It
/// depends on no order, no weight and no other leaf, so it stays while a plan changes, and costs no
/// look-up in the plan. In a placement, in contrast, a sample belongs to the rank that gets it in
/// the first epoch, which is known at once for a single permutation only.
inline int64_t home_of(int64_t index, int64_t world_size) {
  constexpr uint64_t kHomes = 0x686F6D65;
  return static_cast<int64_t>(philox4x32(static_cast<uint64_t>(index), 0, kHomes)[0] %
                              static_cast<uint64_t>(world_size));
}

/// By locality, for the draws of any plan: like assignment_by_locality(), but a sample is cached by
/// the host of its home, also in the first epoch. Counts are those of the assignment by count.
std::shared_ptr<const ShardAssignment> assignment_by_home(std::shared_ptr<const PlanNode> plan, int64_t ranks_per_host);

}  // namespace forebay
