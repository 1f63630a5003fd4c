#pragma once

#include <cstdint>
#include <vector>

#include "forebay/diagnosis.h"

namespace forebay {

struct Observation;

constexpr double kWorthIt = 1.05;    ///< smallest speed-up that is reported as a gain
constexpr double kFullCache = 0.95;  ///< share of hits, or of entries, of a full cache

/// A change that was tried, with its result.
struct Candidate {
  Remedy remedy;
  Limiter limiter;  ///< limit of the pipeline with the change
  /// Samples per second of the unchanged pipeline, measured in turns with the change. 0 if the
  /// change was compared with something else.
  double before = 0;
  bool filled = false;  ///< the change is to fill the pipeline's own cache
};

/// Returns the share of lookups in the pipeline's own caches that hit. 1 without a cache.
double cached_share(const Observation& seen);
/// Returns the budget in bytes of the larger tier of each cache, added up. 0 without a cache.
uint64_t cache_budget(const Observation& seen);

/// Results of all trials of a diagnosis. It borrows them from the diagnosis, which outlives it.
struct TrialResults {
  const Observation& baseline;
  const std::vector<Candidate>& tried;
  const LoaderOptions& options;
  int64_t samples = 0;  ///< number of samples of the data set
};
/// Names too little memory, or a cache that is not filled or too small, as the limit of
/// `diagnosis`, if the trials show it. The wait times show only reads and work, so such limits show
/// only in the gain of the trial without them.
void blame_from_trials(const TrialResults& trials, Diagnosis& diagnosis);

}  // namespace forebay
