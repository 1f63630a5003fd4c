#pragma once

#include "forebay/diagnosis.h"
#include "study/trial.h"

namespace forebay {

/// Under that share of the time a wait is no limit.
constexpr double kHardlyWaits = 0.05;
/// Where threads at work had a core for less than that share of what they could, cores are the limit and not the work.
constexpr double kHadNoCore = 0.7;
/// Threads that are idle for more than that share of the time, while more than that share of the requests is under way, wait for what these bring.
constexpr double kThreadsHaveTime = 0.4, kAllUnderWay = 0.85;

/// What the consumer waited for in the windows. `options`: of the loader; a number given there can be the limit, what it chose itself is not.
Limiter limiter_of(const Observation& seen, const LoaderOptions& options);

}  // namespace forebay
