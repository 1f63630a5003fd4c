#pragma once

#include "forebay/ledger.h"
#include "forebay/profile.h"

namespace forebay {

/// What samples cost between two looks at one loader, which gave `rate` of them a second meanwhile. `before` may be empty: since it was opened.
SampleCost cost_between(const Ledger& before, const Ledger& after, double rate);
/// Of work of which CPU time and rate alone were seen, on so many threads; it read what `reading` did.
SampleCost cost_of_work(double cpu_seconds, double rate, int threads, const SampleCost& reading);
/// On a machine that is by so much faster in all it does: as the rate that belongs to it is corrected.
SampleCost at_pace(SampleCost cost, double factor);
/// Seconds from one sample to the next on that many cores: the longer of what they work and what the store takes, which is the one
/// that it was read from unless another is described.
double seconds_between(const SampleCost& cost, int cores, const Elsewhere& store);

}  // namespace forebay
