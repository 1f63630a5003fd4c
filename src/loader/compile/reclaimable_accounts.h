#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cache/cache.h"
#include "pipeline/execution_plan.h"
#include "pipeline/run/runner_options.h"

namespace forebay {

/// Adds the memory that the process shares among its loaders and that this loader accounts for:
/// cache entries, the indexes of entries on disk, and the idle memory of its store and of its
/// column decoder. `memory` is the limit that the user set.
void add_reclaimable_accounts(const ExecutionPlan& plan, const std::vector<std::shared_ptr<TieredCache>>& caches,
                              std::optional<uint64_t> memory, std::vector<ByteBudget::Account>& accounts);

}  // namespace forebay
