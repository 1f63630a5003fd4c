#pragma once

#include <cstdint>

#include "forebay/loader.h"
#include "loader/samples/choose_assignment.h"
#include "loader/samples/data_plan.h"
#include "pipeline/description.h"

namespace forebay {

/// A request for the plan of one rank. Epochs and ranks count from 0.
struct PlanRequest {
  uint64_t seed = 0;
  int64_t epoch = 0, rank = 0, world_size = 1;
  int64_t max_steps = INT64_MAX;  ///< plans only the first `max_steps` steps
  AssignmentRequest shard_by = {};
};

/// Computes the samples that one rank gets in an epoch, without reading any. The ids of packed
/// samples are the numbers of their blocks. InvalidArgument for an impossible epoch, rank or world
/// size. Time and memory depend on the rows of the requested steps, and not on the length of the
/// epoch.
Result<EpochPlan> plan_epoch(const Description& description, const DataPlan& data, const PlanRequest& request);

}  // namespace forebay
