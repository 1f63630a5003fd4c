#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/bucket_rules.h"

namespace forebay {

/// Cuts samples into batches. `lengths` are those of the samples, in descending order; batches are
/// runs of them. Returns the index of the first sample of each batch, then the number of samples.
///
/// There are as few batches as the rules allow, up to two per cent more if that makes their number
/// a multiple of `multiple`. With a budget, batches cost about the same, as far as whole samples
/// allow; without one, all but the last of a bucket are full.
///
/// Memory while it runs: 12 bytes a sample.
std::vector<uint32_t> cut_batches(std::span<const float> lengths, const BucketRules& rules, int64_t multiple);

/// The cost of each of these batches.
std::vector<double> costs_of(std::span<const float> lengths, std::span<const uint32_t> begins,
                             const BucketRules& rules);

}  // namespace forebay
