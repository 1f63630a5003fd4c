#pragma once

#include <cstdint>

#include "forebay/status.h"
#include "pipeline/run/run_core.h"
#include "pipeline/run/window_batch.h"

namespace forebay {

/// What is said where all the memory of a run is not enough for its oldest task, which asks for `bytes` more: OutOfBudget with the
/// figure that would be. `task`: null where the batch is being put together. Called with the run's lock held.
Status lacking(const RunCore& core, const WindowBatch& batch, const RowTask* task, uint64_t bytes);
/// The same with the figure that is enough for every batch, where that is known and more.
Status with_enough(const RunCore& core, Status status);

}  // namespace forebay
