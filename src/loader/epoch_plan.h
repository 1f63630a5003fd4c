#pragma once

#include "forebay/loader.h"
#include "loader/ordering.h"
#include "plan/schedule.h"

namespace forebay {

/// What one rank of so many gets in an epoch, from the plan alone.
Result<EpochPlan> plan_epoch(const Ordering& ordering, const Selection& selection, const ScheduleOptions& schedule,
                             int64_t epoch, int64_t rank, int64_t max_steps);

}  // namespace forebay
