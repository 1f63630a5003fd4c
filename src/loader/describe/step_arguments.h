#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/description.h"
#include "pipeline/op_role.h"
#include "plan/equal_batches.h"

namespace forebay {

/// Returns the first step with that effect, or null.
const OpSpec* find_step(const Description& description, OpEffect effect);
/// Number of steps that work on samples, with the one that makes batches. Functions on whole
/// batches come after them.
size_t sample_steps(const Description& description);
/// Index of the first step behind a `.pack()`, which stands in the description or in its parts. The
/// number of steps if nothing is packed.
size_t first_block_step(const Description& description);
/// Returns an integer argument; `otherwise` if the argument is missing or `op` is null.
int64_t int_arg(const OpSpec* op, const char* name, int64_t otherwise);
/// Returns a Boolean argument; false if it is missing.
bool bool_arg(const OpSpec& op, const char* name);

/// Returns the number of samples per rank and step; 1 without a `.batch()`.
int64_t batch_size(const Description& description);
/// Returns the number of replayed samples per rank and step; 0 without a `.rehearse()`.
int64_t replayed_rows(const Description& description);
/// Returns the options for dividing `samples` samples into the steps of an epoch.
ScheduleOptions schedule_of(const Description& description, int64_t samples, int64_t world_size);

}  // namespace forebay
