#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forebay/loader.h"
#include "study/estimate.h"
#include "study/trial.h"

namespace forebay {

/// Measurements of a pass that fills a cache.
struct Filling {
  std::vector<Group> seconds = {};        ///< seconds of samples, one group per batch
  std::vector<Group> bytes = {};          ///< bytes of entries, one group per arrival
  uint64_t entries = 0, entry_bytes = 0;  ///< in the cache at the end
  uint64_t declined = 0;                  ///< entries that did not fit the budget
};

/// Estimates the seconds for all of `samples` samples. If the pass has at least eight groups, only
/// its second half is extrapolated: the first half includes one-time costs, such as fresh memory
/// for batches.
Estimate seconds_to_make(std::span<const Group> seen, double samples);

/// Runs one epoch of a loader with a cache, and waits for entries that other threads still write.
/// Errors: InvalidArgument if nothing is cached; those of next(); Cancelled.
Result<Filling> fill_what_fits(Loader& loader, const TrialContext& context);
/// The same for a cache that must hold all entries: OutOfBudget, with `most_bytes`, if they do not
/// fit.
Result<Filling> fill(Loader& loader, const TrialContext& context, uint64_t most_bytes);

}  // namespace forebay
