#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cache/cache.h"
#include "forebay/ledger.h"
#include "pipeline/execution_plan.h"
#include "pipeline/run/runner.h"

namespace forebay {

/// What a loader's parts have counted, in the words of the ledger.

/// Steps (fetching, decoding, each operator, putting batches together, in the order of the work) and the store of the
/// data set.
void add_plan(const ExecutionPlan& plan, Ledger& stats);
/// Caches and their disks; behind add_plan().
void add_caches(const std::vector<std::shared_ptr<TieredCache>>& caches, Ledger& stats);
/// Memory, threads, requests and batches of a run.
void add_run(const Runner& runner, Ledger& stats);
/// What the consumer's language had its consumer wait for; behind add_run().
void add_wait_for_interpreter(int64_t ns, Ledger& stats);

}  // namespace forebay
