#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/bucket_rules.h"
#include "plan/permutation.h"

namespace forebay {

/// The batches of a window: of consecutive positions in an epoch of the plan.
struct BucketWindow {
  std::vector<uint32_t> samples;  ///< positions in the window, in the order of delivery
  std::vector<uint32_t> begins;   ///< index in `samples` where each batch begins, then their number

  int64_t batches() const { return static_cast<int64_t>(begins.size()) - 1; }
};

/// Plans the batches of a window from the lengths of its samples, by position. Samples are sorted
/// by length and cut into batches, which arrange_batches() puts in order. In a batch, samples are
/// in the order of their positions.
BucketWindow plan_window(std::span<const float> lengths, const BucketRules& rules, int64_t group,
                         const PermutationKey& key);

}  // namespace forebay
