#pragma once

#include "forebay/profile.h"

namespace forebay {

struct Ledger;

/// Returns the cost of samples between two ledgers of one loader, which delivered `rate` samples
/// per second meanwhile. An empty `before` means since the loader was opened.
SampleCost cost_between(const Ledger& before, const Ledger& after, double rate);
/// Returns the cost of work of which only CPU time and rate were measured, on `threads` threads.
/// Its reads are those of `reading`.
SampleCost cost_of_work(double cpu_seconds, double rate, int threads, const SampleCost& reading);
/// Returns the cost on a machine that does everything `factor` times as fast.
SampleCost scaled_cost(SampleCost cost, double factor);
/// Returns the seconds per sample on `cores` cores: the longer of the work and the store's time.
/// The store is the measured one, unless `store` describes another.
double seconds_per_sample(const SampleCost& cost, int cores, const Elsewhere& store);

}  // namespace forebay
