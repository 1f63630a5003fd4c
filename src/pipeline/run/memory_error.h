#pragma once

#include <cstdint>

#include "forebay/status.h"
#include "pipeline/run/run_core.h"
#include "pipeline/run/window_batch.h"

namespace forebay {

/// The error of a run whose whole memory is not enough for its oldest task, which needs `bytes`
/// more: OutOfBudget with the bytes that are enough. `task` is null if the batch is being
/// assembled. Called with the run's lock held.
Status insufficient_memory(const RunCore& core, const WindowBatch& batch, const RowTask* task, uint64_t bytes);
/// Replaces the bytes of an OutOfBudget error by those that are enough for every batch, if these
/// are known and more.
Status with_sufficient_bytes(const RunCore& core, Status status);

}  // namespace forebay
