#pragma once

#include "forebay/diagnosis.h"
#include "study/trial.h"

namespace forebay {

/// Under that share of the time a wait is no limit.
constexpr double kHardlyWaits = 0.05;
/// Where threads at work had a core for less than that share of what they could, cores are the limit and not the work.
constexpr double kHadNoCore = 0.7;

/// What the consumer waited for in the windows. `options`: of the loader; a number given there can be the limit, what it chose itself is not.
Limiter limiter_of(const Observation& seen, const LoaderOptions& options);

}  // namespace forebay
