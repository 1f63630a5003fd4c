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
};

/// The value of an environment variable, if set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment process_environment();

/// What is given counts; the rest comes from torchrun (RANK, WORLD_SIZE), Slurm (SLURM_PROCID, SLURM_NTASKS), Open MPI
/// (OMPI_COMM_WORLD_*) or other MPIs (PMI_*), in this order; else one rank. InvalidArgument where rank and size contradict.
Result<Place> find_place(std::optional<int> rank, std::optional<int> world_size, const Environment& environment);

}  // namespace forebay
