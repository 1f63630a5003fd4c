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

/// What a job will read from where, in rows: told from the plan before it starts.
struct JobPlan {
  std::string shard_by;  ///< "locality", "count", or "lanes" for row groups
  int64_t hosts = 1, ranks = 1, batch = 1, samples = 0, steps = 0;
  int64_t least_kept = 0, most_kept = 0;  ///< samples that a host keeps
  int64_t steps_gone_through = 0, own = 0, moved = 0,
          storage = 0;    ///< steps of the second epoch, and their rows by where they come from
  int64_t transfers = 0;  ///< of one step at most, from a host to a rank of another
};

/// With a `.cache()` every host is taken to keep all that it reads in the first epoch: what its caches hold is known on that host alone. Opens the
/// data set; reads no object but for the indices of tables. Of an epoch at most a million rows are gone through.
Result<JobPlan> plan_job(const Pipeline& pipeline, const JobRequest& request);
SortedJson job_to_json(const JobPlan& plan);
void print_job(const JobPlan& plan, const Console& console);

}  // namespace forebay
