#pragma once

#include <functional>
#include <optional>
#include <string>

#include "forebay/result.h"

namespace forebay {

/// Which part of a job this process is.
struct Place {
  int rank = 0;
  int world_size = 1;
  int local_ranks = 1;  ///< processes of the job on this host, which share its cores and memory
  int hosts = 0;        ///< of the job, where the launcher tells all ranks the same number and it divides them; else 0
  /// The launcher's name of this start of the job, the same on all ranks; empty where it has none, or rank and size were given.
  std::string job = {};
};

/// The value of an environment variable, if set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment process_environment();

/// What is given counts; the rest comes from torchrun (RANK, WORLD_SIZE), Open MPI (OMPI_COMM_WORLD_*), other MPIs (PMI_*) or Slurm (SLURM_PROCID,
/// SLURM_NTASKS, in a step of srun's alone: SLURM_STEP_ID): the first pair of which both are set and not empty; else one rank, with a warning
/// where RANK or WORLD_SIZE stands alone and says otherwise, or a job of Slurm's has more tasks. Variables hold decimal whole numbers, with nothing but blanks around.
///
/// InvalidArgument where rank and size contradict, and, unless both are given, for a variable of that pair (or its number of ranks
/// on a host) that is no number: a rank that took itself for the only one would train on everything.
/// InvalidArgument, naming the variable, for what is no number; what is given goes before the environment.
Result<Place> find_place(std::optional<int> rank, std::optional<int> world_size, const Environment& environment);

}  // namespace forebay
