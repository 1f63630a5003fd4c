#pragma once

#include <cstdint>
#include <string_view>

#include "pipeline/description.h"
#include "plan/schedule.h"

namespace forebay {

/// The first step of that name; null where there is none.
const OpSpec* find_step(const Description& description, std::string_view name);
/// An argument of a step that may be missing, as may the argument.
int64_t int_arg(const OpSpec* op, const char* name, int64_t otherwise);
/// What the step `batch` says of an epoch's last rows.
LastPolicy last_policy(const OpSpec* batch);

}  // namespace forebay
