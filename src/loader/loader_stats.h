#pragma once

#include <vector>

#include "cache/tier_stats.h"
#include "forebay/loader.h"
#include "pipeline/execution_plan.h"
#include "pipeline/run/runner.h"
#include "store/store.h"

namespace forebay {

/// What a loader's parts have counted, in the words of LoaderStats.

/// Fetching, decoding, each operator, and putting batches together, in the order of the work.
std::vector<StepStats> stats_of_steps(const ExecutionPlan& plan);
StoreStatsEntry stats_of(const Store& store);
CacheStatsEntry stats_of(const CacheStats& cache);
/// Memory, threads, requests and batches of a run.
void add_run(const Runner& runner, LoaderStats& stats);

}  // namespace forebay
