#pragma once

#include "forebay/diagnosis.h"

namespace forebay {

struct Observation;

/// A consumer that waits for a smaller share of the time is not limited by its loader.
constexpr double kNegligibleWait = 0.05;
/// Cores are the limit if threads ran for less than this share of the time that they were runnable.
constexpr double kLeastCoreShare = 0.7;
/// Reads are the limit if threads are idle for more than kIdleShare of the time, while more than
/// kRequestShare of the allowed requests are in flight.
constexpr double kIdleShare = 0.4, kRequestShare = 0.85;

/// Returns the limit that the consumer waited for in the windows. `options` are those of the
/// loader: a number that the user set can be the limit, one that the loader chose cannot.
Limiter limiter_of(const Observation& seen, const LoaderOptions& options);

}  // namespace forebay
