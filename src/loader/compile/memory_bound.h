#pragma once

#include <cstdint>

#include "loader/compile/sizing.h"

namespace forebay {

/// Memory with which a run of the plan ends, whatever the order of its rows and the speed of anything: what OutOfBudget advises.
/// More than most runs need, since any rows may meet in one batch. Looks at every chunk, or every sample.
///
/// Two things are taken on trust, since only decoding tells: that a picture needs no more than 16 times its stored bytes to
/// work in (4 MiB at least), and what user code makes.
uint64_t memory_bound(const ExecutionPlan& plan, const SizingInput& input, int threads);

}  // namespace forebay
