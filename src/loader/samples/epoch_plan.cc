#include "loader/samples/epoch_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "loader/describe/step_arguments.h"
#include "loader/samples/open_schedule.h"
#include "plan/packed_windows.h"

namespace forebay {

Result<EpochPlan> plan_epoch(const Description& description, const DataPlan& data, const PlanRequest& request) {
  FOREBAY_RETURN_IF_ERROR(schedule_of(description, data.size(), request.world_size).check());
  if (request.epoch < 0)
    return invalid_argument(fmt::format("epoch {} cannot be planned: epochs are counted from 0", request.epoch));
  if (request.rank < 0 || request.rank >= request.world_size) {
    return invalid_argument(fmt::format("rank {} cannot be planned in a world of {}: ranks are 0 to {}", request.rank,
                                        request.world_size, request.world_size - 1));
  }
  FOREBAY_ASSIGN(const JobSteps job,
                 open_schedule(description, data, request.seed, request.world_size, request.shard_by));
  const IndexedItinerary itinerary(data.plan, data.samples(), job.schedule, request.rank, {});
  const Schedule& schedule = *job.schedule;
  EpochPlan plan{.size = data.size(), .steps = schedule.steps_left({request.epoch, 0}), .first = {}};
  if (schedule.blocks() != nullptr) plan.size = schedule.blocks()->size(request.epoch);
  // A block of samples of all branches is of no part.
  const bool has_parts = data.branches.size() > 1 && schedule.blocks() == nullptr;
  for (size_t i = 0; has_parts && i < data.branches.size(); ++i)
    plan.part_names.push_back(data.branches[i].branch.name());
  const int64_t lanes = job.assignment.lanes;
  int64_t position = 0;
  std::vector<Row> rows;
  for (int64_t step = 0; step < std::min(plan.steps, request.max_steps); ++step) {
    PlannedStep& planned = plan.first.emplace_back();
    planned.position = position;
    schedule.rows({request.epoch, position}, request.rank, &rows);
    itinerary.locate(request.epoch, rows);
    for (const Row& row : rows) {
      planned.ids.push_back(row.id);
      if (has_parts) planned.parts.push_back(row.branch);
      planned.positions.push_back(row.position);
      planned.padding += row.padding ? 1 : 0;
      const int64_t lane = row.position % lanes;
      // Padding has no owner.
      if (!row.padding && lanes > 1 && owner_of_lane(lane, lanes, request.world_size) != request.rank)
        planned.moved.push_back(row.position);
    }
    // All ranks advance alike. Steps may differ in size, since the last ones may be cut.
    position = schedule.next_position({request.epoch, position});
  }
  return plan;
}

}  // namespace forebay
