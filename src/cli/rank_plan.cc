#include "cli/rank_plan.h"

#include <algorithm>

#include "pipeline/description.h"

namespace forebay {
namespace {

LastPolicy last_policy(const std::string& name) {
  if (name == "drop") return LastPolicy::kDrop;
  return name == "pad" ? LastPolicy::kPad : LastPolicy::kPartial;
}

PlannedStep plan_step(const Order& order, const Schedule& schedule, const RankPlanOptions& options, int64_t position) {
  PlannedStep step;
  step.position = position;
  std::vector<Row> rows;
  schedule.rows(position, options.rank, &rows);
  for (const Row& row : rows) {
    step.ids.push_back(order.id_at(options.epoch, row.position));
    step.positions.push_back(row.position);
    step.padding += row.padding;
  }
  return step;
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

Result<RankPlan> plan_rank(const PlannedPipeline& pipeline, const RankPlanOptions& options) {
  const ScheduleOptions schedule_options{
      .epoch_size = pipeline.take < 0 ? options.size : std::min(options.size, pipeline.take),
      .batch_size = pipeline.batch_size,
      .world_size = options.world_size,
      .last = pipeline.last};
  FOREBAY_RETURN_IF_ERROR(schedule_options.check());
  const Schedule schedule(schedule_options);
  const std::unique_ptr<Order> order = pipeline.shuffled ? shuffled_order(schedule_options.epoch_size, options.seed)
                                                         : sequential_order(schedule_options.epoch_size);
  RankPlan plan;
  plan.size = schedule_options.epoch_size;
  plan.steps = schedule.steps();
  int64_t position = 0;
  for (int64_t step = 0; step < std::min(plan.steps, options.max_steps); ++step) {
    plan.first.push_back(plan_step(*order, schedule, options, position));
    position = schedule.next_position(position);
  }
  return plan;
}

}  // namespace forebay
