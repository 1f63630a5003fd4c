#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/permutation.h"

namespace forebay {

/// The order in which batches of these costs are delivered: their numbers, in a random order in
/// which each run of `group` batches, counted from the first, has batches of like cost. So ranks
/// whose number divides `group` work equally long in every step.
///
/// Batches within 1.5 % of the median cost are shuffled freely. The others, in the order of cost,
/// form groups of their own, which are filled up with the nearest ones of the former. If the number
/// of batches is no multiple of `group`, the last run is shorter.
std::vector<uint32_t> arrange_batches(std::span<const double> costs, int64_t group, const PermutationKey& key);

}  // namespace forebay
