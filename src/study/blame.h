#pragma once

#include <cstdint>
#include <vector>

#include "forebay/diagnosis.h"
#include "study/trial.h"

namespace forebay {

constexpr double kWorthIt = 1.05;  ///< times as fast, from which on a change is one
constexpr double kHasAll = 0.95;   ///< of what is asked of a cache: then it is full

/// A change that was tried.
struct Candidate {
  Remedy remedy;
  Limiter limiter;  ///< what held it up then
  double before =
      0;  ///< samples a second of the pipeline as it is, in turns with it; 0 where that was not what it was compared with
  bool filled = false;  ///< the pipeline's own cache, with everything in it
};

/// Of what was asked of the pipeline's own cache in that time, what it had. 1 where there is none.
double cached_share(const Observation& seen);
/// Bytes that its larger tier may have; 0 where there is none.
uint64_t cache_budget(const Observation& seen);

/// What is known once changes were tried.
struct AfterTrials {
  const Observation& as_it_is;
  const std::vector<Candidate>& tried;
  const LoaderOptions& options;
  int64_t samples = 0;  ///< of the data set
};
/// Too little memory, and a cache that is not filled or too small, do not show in what is waited for, which is reads and work: they show in that
/// it is faster without them. Then they are what `diagnosis` names.
void blame_by_trials(const AfterTrials& known, Diagnosis& diagnosis);

}  // namespace forebay
