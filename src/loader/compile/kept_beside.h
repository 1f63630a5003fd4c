#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cache/cache.h"
#include "pipeline/execution_plan.h"
#include "pipeline/run/runner_options.h"

namespace forebay {

/// What a loader counts of the memory that the process keeps for all of its loaders: entries of its caches and what knows those on disk,
/// idle memory of its store and of the decoder of its columns. `memory`: what the user gave.
std::vector<RunnerOptions::Beside> kept_beside(const ExecutionPlan& plan,
                                               const std::vector<std::shared_ptr<TieredCache>>& caches,
                                               std::optional<uint64_t> memory);

/// What the entries of its caches may take in memory.
uint64_t cached_bytes(const std::vector<std::shared_ptr<TieredCache>>& caches, std::optional<uint64_t> memory);

}  // namespace forebay
