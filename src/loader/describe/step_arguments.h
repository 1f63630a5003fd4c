#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/description.h"
#include "pipeline/operator.h"
#include "plan/schedule.h"

namespace forebay {

/// The first step of that role; null where there is none.
const OpSpec* find_step(const Description& description, OpRole role);
/// An argument of a step that may be missing, as may the argument.
int64_t int_arg(const OpSpec* op, const char* name, int64_t otherwise);
/// False where it is not given.
bool bool_arg(const OpSpec& op, const char* name);

/// Samples per rank and step; 1 where nothing puts them together.
int64_t batch_size(const Description& description);
/// Old ones beside them, where a step rehearses; 0 without.
int64_t old_rows(const Description& description);
/// How so many samples become the steps of an epoch.
ScheduleOptions schedule_of(const Description& description, int64_t samples, int64_t world_size);

}  // namespace forebay
