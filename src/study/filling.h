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
  std::vector<Group> seconds;             ///< of samples
  std::vector<Group> bytes;               ///< of entries
  uint64_t entries = 0, entry_bytes = 0;  ///< in the cache at the end
  uint64_t declined = 0;                  ///< entries for which the cache had no room
};

/// How long all of so many samples would take. Of a pass of at least eight groups the second half goes on as it will, behind what comes but once, such as
/// fresh memory for batches.
Estimate seconds_to_make(std::span<const Group> seen, double samples);

/// Passes an epoch of a loader with a cache and waits until entries that other threads write have arrived.
/// Errors: InvalidArgument where nothing is kept; those of next(); Cancelled.
Result<Filling> fill_what_fits(Loader& loader, const TrialContext& context);
/// The same for a cache that has to keep everything: OutOfBudget, with `most_bytes`, where not all of it fits.
Result<Filling> fill(Loader& loader, const TrialContext& context, uint64_t most_bytes);

}  // namespace forebay
