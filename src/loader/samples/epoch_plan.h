#pragma once

#include <cstdint>

#include "base/chunk_source.h"
#include "forebay/loader.h"
#include "loader/samples/chosen_samples.h"
#include "loader/samples/dealing.h"
#include "pipeline/description.h"

namespace forebay {

/// Epochs and ranks count from 0.
struct PlanRequest {
  uint64_t seed = 0;
  int64_t epoch = 0, rank = 0, world_size = 1;
  int64_t max_steps = INT64_MAX;  ///< only the first so many
  DealRequest shard_by = {};
};

/// What one rank of so many gets in an epoch, from the plan alone. `chunks`: those of the source; null where its samples are read one
/// by one. Ids of packed samples are their blocks'. InvalidArgument for an epoch, rank or world that cannot be. Takes time and memory
/// with the rows of the steps that are asked for, never with the epoch.
Result<EpochPlan> plan_epoch(const Description& description, const ChunkSource* chunks, const ChosenSamples& chosen,
                             const PlanRequest& request);

}  // namespace forebay
