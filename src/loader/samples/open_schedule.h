#pragma once

#include <memory>

#include "loader/samples/choose_assignment.h"
#include "loader/samples/data_plan.h"
#include "plan/schedule.h"

namespace forebay {

/// The steps of a job's epochs, and how its ranks share them.
struct JobSteps {
  std::shared_ptr<const Schedule> schedule;
  Assignment assignment;
  /// The positions of the plan whose samples may come in any order; 1 if all come as planned.
  int64_t window = 1;
};

/// The blocks of chunks of a branch that a window of the plan's positions meets, in each lane; 1 if
/// its samples are read one by one.
int64_t blocks_in_window(const BranchData& branch, int64_t window);

/// Returns the steps of a pipeline for so many ranks: batches of one size, of like lengths, or of
/// blocks that are made anew in each epoch. `seed` is the run's. The errors of choose_assignment() and
/// PackedWindows::make(), and Unsupported if shard_by="locality" is requested for either of the last
/// two.
Result<JobSteps> open_schedule(const Description& description, const DataPlan& data, uint64_t seed, int64_t world_size,
                               const AssignmentRequest& request);

}  // namespace forebay
