#include "cli/rank_plan.h"

#include <algorithm>

#include "loader/epoch_plan.h"
#include "loader/selection.h"
#include "pipeline/description.h"

namespace forebay {
namespace {

LastPolicy last_policy(const std::string& name) {
  if (name == "drop") return LastPolicy::kDrop;
  return name == "pad" ? LastPolicy::kPad : LastPolicy::kPartial;
}

}  // namespace

PlannedPipeline planned_part(const Pipeline& pipeline) {
  PlannedPipeline part;
  for (const OpSpec& op : pipeline.description().steps()) {
    if (op.name == "shuffle") part.shuffled = true;
    if (op.name == "take") {
      const int64_t n = op.args.value("n", int64_t{0});
      part.take = part.take < 0 ? n : std::min(part.take, n);
    }
    if (op.name == "batch") {
      part.batch_size = op.args.value("n", int64_t{1});
      part.last = last_policy(op.args.value("last", std::string("partial")));
    }
  }
  return part;
}

Result<EpochPlan> plan_rank(const PlannedPipeline& pipeline, const RankPlanOptions& options) {
  const int64_t size = pipeline.take < 0 ? options.size : std::min(options.size, pipeline.take);
  Ordering ordering;
  ordering.order = pipeline.shuffled ? shuffled_order(size, options.seed) : sequential_order(size);
  ordering.deal = deal_by_count();
  const ScheduleOptions schedule{
      .epoch_size = size, .batch_size = pipeline.batch_size, .world_size = options.world_size, .last = pipeline.last};
  return plan_epoch(ordering, *first_samples(size), schedule, options.epoch, options.rank, options.max_steps);
}

}  // namespace forebay
