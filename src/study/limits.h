#pragma once

#include "forebay/diagnosis.h"

namespace forebay {

struct Observation;

/// A smaller share of the time spent waiting is no limit.
constexpr double kNegligibleWait = 0.05;
/// If busy threads had a core for less than this share of the time they were ready, cores are the
/// limit.
constexpr double kLeastCoreShare = 0.7;
/// Threads wait for reads if they are idle for more than the first share of the time, while more
/// than the second share of the requests is in flight.
constexpr double kIdleShare = 0.4, kRequestShare = 0.85;

/// Returns the limit that the consumer waited for in the windows. `options` are those of the
/// loader: a number that the user set can be the limit, one that the loader chose cannot.
Limiter limiter_of(const Observation& seen, const LoaderOptions& options);

}  // namespace forebay
