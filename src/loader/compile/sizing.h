#pragma once

#include <optional>

#include "forebay/engine.h"
#include "pipeline/execution_plan.h"
#include "pipeline/run/runner.h"

namespace forebay {

/// What the user fixed; the rest is chosen.
/// Bytes are of this process alone; `local_ranks` of them share the machine.
struct SizingInput {
  std::optional<int> threads = {}, requests = {};
  std::optional<uint64_t> memory = {};
  uint64_t caches = 0;     ///< bytes that caches may hold in memory: on top where `memory` is not given, else within it
  int64_t batch_size = 1;  ///< rows, or blocks where rows are packed
  int64_t old_rows = 0;    ///< of a batch, beside those: what it rehearses
  uint64_t packed = 0;     ///< bytes of a batch's blocks, found by choose_sizes()
  uint64_t classes = 0;    ///< bytes of what a pass over the data set tells of it, beside the source's own index
  EngineLimits engine = {};        ///< of this process alone
  int local_ranks = 1, ranks = 1;  ///< processes of the job on this machine, and on all
  int64_t block = 1, lanes = 1;    ///< for chunks of many rows: mixed at once, and spans that this rank reads from
};

/// Threads, request slots, window and memory for a plan, which has to last as long as what comes back. InvalidArgument for
/// nonsense, and for more than the engine has; OutOfBudget where the memory given cannot hold one batch, with a figure that is enough for every batch.
Result<RunnerOptions> choose_sizes(const ExecutionPlan& plan, const SizingInput& input);

}  // namespace forebay
