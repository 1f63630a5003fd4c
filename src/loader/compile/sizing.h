#pragma once

#include <optional>

#include "forebay/engine.h"
#include "pipeline/execution_plan.h"
#include "pipeline/memory_model.h"
#include "pipeline/run/runner.h"

namespace forebay {

/// Settings that the user fixed, and figures of the run. Sizes that are not set are chosen. All
/// bytes are those of this process alone.
struct SizingInput {
  /// The chunks of a branch that are mixed.
  struct Mixing {
    int64_t block = 1, lanes = 1;  ///< as in RunShape
  };
  std::optional<int> threads = {}, requests = {};
  std::optional<uint64_t> memory = {};
  RunShape run = {};                ///< rows are blocks if rows are packed; `threads` is ignored
  std::vector<Mixing> mixing = {};  ///< by branch, in place of `run`'s; empty: that of `run`
  EngineLimits engine = {};         ///< of this process alone
  int local_ranks = 1, ranks = 1;   ///< processes of the job on this machine, and on all machines
};

/// Chooses threads, request slots, window and memory for a plan. The plan must outlive the result.
/// InvalidArgument if a setting is out of range or exceeds the engine's limit. OutOfBudget if the
/// memory cannot hold one batch; the error carries an amount that is enough for every batch.
Result<RunnerOptions> choose_sizes(const ExecutionPlan& plan, const SizingInput& input);

}  // namespace forebay
