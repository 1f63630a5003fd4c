#pragma once

#include <vector>

#include "forebay/ledger.h"
#include "pipeline/execution_plan.h"
#include "pipeline/run/runner.h"
#include "store/store.h"

namespace forebay {

/// What a loader's parts have counted, in the words of the ledger.

/// Fetching, decoding, each operator, and putting batches together, in the order of the work.
std::vector<StepStats> stats_of_steps(const ExecutionPlan& plan);
/// With its name.
StoreStats stats_of(const Store& store);
/// Memory, threads, requests and batches of a run.
void add_run(const Runner& runner, Ledger& stats);

}  // namespace forebay
