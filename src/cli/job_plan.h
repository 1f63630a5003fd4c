#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>

#include "cli/command_line.h"
#include "cli/failure.h"
#include "forebay/loader.h"
#include "forebay/pipeline.h"
#include "forebay/result.h"

namespace forebay {

struct JobRequest {
  int64_t hosts = 1, ranks_per_host = 1;
  uint64_t seed = 0;
  std::map<std::string, std::string> storage;
  std::stop_token stop;
  ShardBy shard_by = ShardBy::kAuto;
};

/// Numbers of rows that a job will read from each tier, computed from the plan before it starts.
struct JobPlan {
  std::string shard_by;  ///< "locality", "count", or "lanes" for row groups
  int64_t hosts = 1, ranks = 1, batch = 1, samples = 0, steps = 0;
  int64_t min_cached = 0, max_cached = 0;  ///< fewest and most samples that one host caches
  /// Steps of the second epoch that were counted, and their rows that the host of the reading rank
  /// caches, that another host caches, and that only the storage has.
  int64_t steps_counted = 0, own = 0, moved = 0, storage = 0;
  int64_t transfers = 0;  ///< most pairs (host, rank of another host) with rows in one step
};

/// Computes the plan of a job, over one data set or many as one. With a `.cache()` it assumes that every host caches all that it
/// reads in the first epoch, since the real sizes of caches are known only on the hosts. Opens the
/// data set and reads nothing but the indexes of tables. Counts at most a million rows of the
/// second epoch.
Result<JobPlan> plan_job(const Pipeline& pipeline, const JobRequest& request);
SortedJson job_to_json(const JobPlan& plan);
void print_job(const JobPlan& plan, const Console& console);

}  // namespace forebay
