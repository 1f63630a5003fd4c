#pragma once

#include <cstdint>
#include <optional>

#include "forebay/loader.h"
#include "loader/compile/ordering.h"
#include "loader/samples/data_plan.h"
#include "pipeline/description.h"
#include "plan/equal_batches.h"
#include "plan/first_ranks.h"

namespace forebay {

/// Settings of the shard assignment. They must be the same on every rank.
struct AssignmentRequest {
  ShardBy shard_by = ShardBy::kAuto;
  std::optional<int> hosts = {};  ///< set by the user
  int known_hosts = 0;            ///< Place::hosts
};

/// Checks `shard_by=` and `hosts=`. InvalidArgument unless `hosts` is between 1 and the number of
/// ranks.
Status check_assignment(const AssignmentRequest& request, int64_t world_size);

/// Replaces the shard assignment of `ordering` by one by locality, if each rank should get the
/// samples that its host or process caches. Row groups are assigned by lane, whatever is requested:
/// a row by row assignment would make many hosts decode each of them.
///
/// A cache on disk belongs to a host, a cache in memory to a process. The inputs (pipeline,
/// `hosts=`, settings that the launcher gives all ranks alike) are the same on every rank. Sizes of
/// caches and machines do not count: every sample is assumed to be cached where it is first read.
/// kAuto means kLocality if the pipeline has a `.cache()` and the number of caches is known, else
/// kCount.
///
/// InvalidArgument if kLocality is requested and the number of hosts is unknown.
Status choose_assignment(const Description& description, const ScheduleOptions& schedule,
                         const AssignmentRequest& request, Ordering* ordering);

/// The division of the rows of a step among the ranks of a job.
struct Assignment {
  std::shared_ptr<const ShardAssignment> ranks;
  std::string name = "count";  ///< in messages about ranks
  int64_t lanes = 1;           ///< of the whole epoch; 1 for a pipeline with several branches
  std::shared_ptr<const FirstRanks> first_ranks = nullptr;  ///< which rank caches a sample
};

/// The same for all branches of a pipeline. One permutation of one data set has a placement. In any
/// other plan samples have homes (assignment_by_home()), unless all are in row groups or some in
/// lanes: lanes of one branch among several, or of an order that is repeated, are shared by
/// assignment_by_leaf().
Result<Assignment> choose_assignment(const Description& description, const DataPlan& data,
                                     const ScheduleOptions& schedule, const AssignmentRequest& request);

}  // namespace forebay
