#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "forebay/loader.h"
#include "forebay/pipeline.h"
#include "forebay/result.h"
#include "plan/order.h"
#include "plan/schedule.h"

namespace forebay {

/// The part of a pipeline that the plan knows: everything else changes what a sample is, not where it goes.
struct PlannedPipeline {
  bool shuffled = false;
  int64_t take = -1;  ///< the first so many ids; -1 for all
  int64_t batch_size = 1;
  LastPolicy last = LastPolicy::kPartial;
};
PlannedPipeline planned_part(const Pipeline& pipeline);

/// Which samples one rank gets, step by step.
struct RankPlanOptions {
  int64_t size = 0;  ///< samples in the data set, before take
  uint64_t seed = 0;
  int64_t epoch = 0, rank = 0, world_size = 1;
  int64_t max_steps = INT64_MAX;
};
/// For a data set of so many samples that is shuffled flat or not at all, without looking at it.
Result<EpochPlan> plan_rank(const PlannedPipeline& pipeline, const RankPlanOptions& options);

}  // namespace forebay
