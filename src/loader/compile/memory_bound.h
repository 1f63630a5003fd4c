#pragma once

#include <cstdint>

#include "loader/compile/sizing.h"

namespace forebay {

/// Returns an amount of memory that is enough for a run of the plan, whatever the order of its rows
/// and the speed of storage and threads. OutOfBudget advises this amount. Most runs need less,
/// since the bound assumes that any rows may meet in one batch. The function looks at every chunk
/// or sample.
///
/// The bound rests on two assumptions, since only a run can tell: a picture needs at most 16 times
/// its stored bytes to be decoded (4 MiB at least), and user code makes what its fields announce.
uint64_t memory_bound(const ExecutionPlan& plan, const SizingInput& input, int threads);

}  // namespace forebay
