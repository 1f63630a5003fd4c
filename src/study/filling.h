#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forebay/loader.h"
#include "study/estimate.h"
#include "study/trial.h"

namespace forebay {

/// One after the other filling a cache, and what there was at each batch.
struct Filling {
  std::vector<Group> seconds;  ///< of samples
  std::vector<Group> bytes;    ///< of entries
};

/// How long all of so many samples would take. Of a pass of at least eight groups the second half goes on as it will, behind what comes but once, such as
/// fresh memory for batches.
Estimate seconds_to_make(std::span<const Group> seen, double samples);

/// Passes an epoch of a loader whose first cache is to keep all of it, and waits until what is written by threads of its own has arrived.
/// OutOfBudget, with `most_bytes`, where not all of it fits; InvalidArgument where nothing is kept; errors of next(); Cancelled.
Result<Filling> fill(Loader& loader, const TrialContext& context, uint64_t most_bytes);

}  // namespace forebay
