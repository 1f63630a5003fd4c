#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cache/cache.h"
#include "pipeline/execution_plan.h"
#include "pipeline/run/runner.h"

namespace forebay {

struct Ledger;

/// These functions convert the counters of a loader's parts into entries of the ledger.

/// Adds the steps in the order of the work (fetching, decoding, each operator, assembling batches),
/// and the store of the data set.
void add_plan(const ExecutionPlan& plan, Ledger& stats);
/// Adds the caches and their disks. Call it after add_plan().
void add_caches(const std::vector<std::shared_ptr<TieredCache>>& caches, Ledger& stats);
/// Adds memory, threads, requests and batches of a run.
void add_run(const Runner& runner, Ledger& stats);
/// Adds the parts of a pipeline with several. `passes`: the pass that each branch is in.
void add_parts(const ExecutionPlan& plan, const Runner& runner, std::span<const int64_t> passes, Ledger& stats);
/// Adds the time that the consumer waited for its language's interpreter. Call it after add_run().
void add_wait_for_interpreter(int64_t ns, Ledger& stats);

}  // namespace forebay
