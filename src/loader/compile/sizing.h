#pragma once

#include <optional>

#include "forebay/engine.h"
#include "pipeline/execution_plan.h"
#include "pipeline/run/runner.h"

namespace forebay {

/// Settings that the user fixed, and figures of the run. Sizes that are not set are chosen. All
/// bytes are those of this process alone.
struct SizingInput {
  std::optional<int> threads = {}, requests = {};
  std::optional<uint64_t> memory = {};
  uint64_t caches = 0;             ///< bytes that caches may hold, part of `memory` if that is set
  int64_t batch_size = 1;          ///< rows, or blocks where rows are packed
  int64_t replayed_rows = 0;       ///< replayed rows in a batch, in addition to `batch_size`
  uint64_t packed = 0;             ///< bytes of a batch's blocks, set by choose_sizes()
  uint64_t classes = 0;            ///< bytes of what a pass over the data set found, without its index
  EngineLimits engine = {};        ///< of this process alone
  int local_ranks = 1, ranks = 1;  ///< processes of the job on this machine, and on all machines
  int64_t block = 1, lanes = 1;    ///< for chunks of many rows: chunks mixed, lanes this rank reads
};

/// Chooses threads, request slots, window and memory for a plan. The plan must outlive the result.
/// InvalidArgument if a setting is out of range or exceeds the engine's limit. OutOfBudget if the
/// memory cannot hold one batch; the error carries an amount that is enough for every batch.
Result<RunnerOptions> choose_sizes(const ExecutionPlan& plan, const SizingInput& input);

}  // namespace forebay
