#pragma once

#include <functional>
#include <optional>
#include <string>

#include "forebay/result.h"

namespace forebay {

/// Rank of this process in its job, and the sizes that belong to it.
struct RankInfo {
  int rank = 0;
  int world_size = 1;
  int local_ranks = 1;  ///< processes of the job on this host, which share its cores and memory
  int hosts = 0;        ///< hosts of the job; 0 unless it divides the ranks, and all ranks know it
  /// The launcher's name of this start of the job, the same on all ranks. Empty if there is none,
  /// or if rank or size were given.
  std::string job = {};
};

/// Returns the value of an environment variable, if it is set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment process_environment();

/// Finds the rank of this process. Called when a loader is opened, on the caller's thread.
/// Arguments take precedence over the environment. The environment variables are, in this order,
/// those of torchrun (RANK, WORLD_SIZE), Open MPI (OMPI_COMM_WORLD_*), other MPIs (PMI_*) and Slurm
/// (SLURM_PROCID, SLURM_NTASKS, if SLURM_STEP_ID shows a step of srun). The first pair of which
/// both are set and not empty counts. Without a pair the process is the only rank. A warning is
/// logged if RANK or WORLD_SIZE alone contradicts that, or if a Slurm job has more tasks. Values
/// are decimal integers; blanks around them are ignored.
///
/// InvalidArgument if rank and size contradict each other. Unless both are given, also
/// InvalidArgument, naming the variable, if a variable of the pair (or its number of local ranks)
/// is not a number: a rank that took itself for the only one would train on everything.
Result<RankInfo> find_rank_info(std::optional<int> rank, std::optional<int> world_size, const Environment& environment);

}  // namespace forebay
