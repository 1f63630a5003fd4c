#include "loader/peers/distributed.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "telemetry/log.h"

namespace forebay {

namespace {

struct Launcher {
  const char *rank, *world_size, *local_ranks, *hosts;
};
constexpr Launcher kTorchrun = {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE"};
// SLURM_NTASKS_PER_NODE is set only by --ntasks-per-node; otherwise slurm_local_ranks() is used.
constexpr Launcher kSlurm = {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_STEP_NUM_NODES"};
constexpr Launcher kMpis[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", nullptr},
};

// Returns the value without surrounding blanks; nothing if it is not set or empty.
std::optional<std::string> value_of(const Environment& environment, const char* name) {
  constexpr const char* kBlanks = " \t\r\n";
  std::optional<std::string> text = environment(name);
  if (!text) return std::nullopt;
  const size_t begin = text->find_first_not_of(kBlanks);
  if (begin == std::string::npos) return std::nullopt;
  return text->substr(begin, text->find_last_not_of(kBlanks) - begin + 1);
}

std::optional<int> parse(const std::string& text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && parsed == end ? std::optional(value) : std::nullopt;
}

Result<int> number(const char* name, const std::string& text) {
  if (const std::optional<int> value = parse(text)) return *value;
  return invalid_argument(fmt::format(
      "the environment variable {} is '{}', which is no number that a rank or a size can be; set it right, unset it, "
      "or give rank= and world_size=",
      name, text));
}

// Parses a list such as "4(x2),3", Slurm's notation for nodes of 4, 4 and 3 tasks. Returns the
// number of tasks of a node; nothing if the list has no such node, or is malformed.
std::optional<int> tasks_of_node(std::string_view list, int node) {
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), part.size() + 1));
    const size_t times_at = part.find("(x");
    const auto tasks = parse(std::string(part.substr(0, times_at)));
    std::optional<int> times = 1;
    if (times_at != std::string_view::npos)
      times = part.ends_with(')') ? parse(std::string(part.substr(times_at + 2, part.size() - times_at - 3)))
                                  : std::nullopt;
    if (!tasks || !times || *tasks < 1 || *times < 1) return std::nullopt;
    if (node < *times) return tasks;
    node -= *times;
  }
  return std::nullopt;
}

// srun gives each task the list of its step, and the index of its node in it.
std::optional<int> slurm_local_ranks(const Environment& environment) {
  const auto node = value_of(environment, "SLURM_NODEID"), list = value_of(environment, "SLURM_STEP_TASKS_PER_NODE");
  const std::optional<int> number = node ? parse(*node) : std::nullopt;
  return list && number && *number >= 0 ? tasks_of_node(*list, *number) : std::nullopt;
}

bool has_rank_and_size(const Launcher& launcher, const Environment& environment) {
  return value_of(environment, launcher.rank) && value_of(environment, launcher.world_size);
}

// The script of an sbatch job also has SLURM_PROCID and SLURM_NTASKS, the number of tasks it may
// start. Only a process that srun started is a task.
bool is_slurm_task(const Environment& environment) {
  return has_rank_and_size(kSlurm, environment) && value_of(environment, "SLURM_STEP_ID").has_value();
}

// Within a Slurm job, mpirun starts its processes as steps, so Slurm's variables may describe
// those.
bool agrees_with_slurm(const Launcher& mpi, const Environment& environment) {
  return value_of(environment, mpi.rank) == value_of(environment, kSlurm.rank) &&
         value_of(environment, mpi.world_size) == value_of(environment, kSlurm.world_size);
}

const Launcher* launcher_of(const Environment& environment) {
  if (has_rank_and_size(kTorchrun, environment)) return &kTorchrun;
  const bool slurm = is_slurm_task(environment);
  for (const Launcher& mpi : kMpis) {
    // If both agree, Slurm is preferred, because it also gives the number of hosts.
    if (has_rank_and_size(mpi, environment)) return slurm && agrees_with_slurm(mpi, environment) ? &kSlurm : &mpi;
  }
  return slurm ? &kSlurm : nullptr;
}

Result<RankInfo> read_rank_info(const Launcher& launcher, const Environment& environment) {
  RankInfo rank_info;
  FOREBAY_ASSIGN(rank_info.rank, number(launcher.rank, *value_of(environment, launcher.rank)));
  FOREBAY_ASSIGN(rank_info.world_size, number(launcher.world_size, *value_of(environment, launcher.world_size)));
  if (const auto local = value_of(environment, launcher.local_ranks)) {
    FOREBAY_ASSIGN(rank_info.local_ranks, number(launcher.local_ranks, *local));
  } else if (&launcher == &kSlurm) {
    rank_info.local_ranks = slurm_local_ranks(environment).value_or(rank_info.local_ranks);
  }
  // The number of local ranks differs between hosts, so the hosts cannot be computed from it.
  if (launcher.hosts != nullptr) {
    const auto hosts = value_of(environment, launcher.hosts);
    rank_info.hosts = hosts ? parse(*hosts).value_or(0) : 0;
  }
  return rank_info;
}

// For processes that mpirun starts, Slurm's variables differ from rank to rank, so MPI comes first.
std::string job_of(const Environment& environment) {
  if (has_rank_and_size(kTorchrun, environment)) return value_of(environment, "TORCHELASTIC_RUN_ID").value_or("");
  if (has_rank_and_size(kMpis[0], environment)) return value_of(environment, "PMIX_NAMESPACE").value_or("");
  // Slurm treats the components of a heterogeneous job as separate jobs.
  if (has_rank_and_size(kMpis[1], environment) || !is_slurm_task(environment) ||
      value_of(environment, "SLURM_HET_SIZE"))
    return "";
  const auto job = value_of(environment, "SLURM_JOB_ID");
  if (!job) return "";
  return fmt::format("{}.{}.{}", *job, *value_of(environment, "SLURM_STEP_ID"),
                     value_of(environment, "SLURM_RESTART_COUNT").value_or("0"));
}

// Warns if only one variable of a pair is set, which makes this process the only rank.
void warn_of_half_a_pair(const Environment& environment) {
  const auto tasks = value_of(environment, kSlurm.world_size);
  if (has_rank_and_size(kSlurm, environment) && *tasks != "1")
    log_warning(
        fmt::format("SLURM_NTASKS is '{}' but SLURM_STEP_ID is not set, so that srun did not start this process: it is "
                    "taken for the only rank; start one for each task with srun",
                    *tasks));
  const auto rank = value_of(environment, "RANK"), size = value_of(environment, "WORLD_SIZE");
  if (rank && !size && *rank != "0") {
    log_warning(fmt::format("RANK is '{}' but WORLD_SIZE is not set: this is taken for the only rank", *rank));
  } else if (size && !rank && *size != "1") {
    log_warning(fmt::format("WORLD_SIZE is '{}' but RANK is not set: this is taken for the only rank", *size));
  }
}

// Returns the rank that the launcher announces. With `given`, the caller has both rank and size, so
// bad variables are ignored.
Result<RankInfo> launcher_rank_info(const Environment& environment, bool given) {
  if (const Launcher* const launcher = launcher_of(environment)) {
    Result<RankInfo> rank_info = read_rank_info(*launcher, environment);
    return rank_info.ok() || !given ? rank_info : RankInfo();
  }
  if (!given) warn_of_half_a_pair(environment);
  return RankInfo();
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Result<RankInfo> find_rank_info(std::optional<int> rank, std::optional<int> world_size,
                                const Environment& environment) {
  FOREBAY_ASSIGN(RankInfo rank_info, launcher_rank_info(environment, rank && world_size));
  if (world_size && !rank && *world_size != rank_info.world_size) {
    if (*world_size != 1) return invalid_argument(fmt::format("world_size={} needs rank= too", *world_size));
    rank_info.rank = 0;
  }
  // The launcher's hosts belong to another world size.
  if (world_size && *world_size != rank_info.world_size) rank_info.hosts = 0;
  rank_info.job = rank || world_size ? "" : job_of(environment);
  if (world_size) rank_info.world_size = *world_size;
  if (rank) rank_info.rank = *rank;
  if (rank_info.world_size < 1)
    return invalid_argument(fmt::format("world_size is {}; it must be 1 or more", rank_info.world_size));
  if (rank_info.rank < 0 || rank_info.rank >= rank_info.world_size) {
    return invalid_argument(
        fmt::format("rank {} is out of range for a world of {}: ranks are 0 to {}; give both rank= and "
                    "world_size=",
                    rank_info.rank, rank_info.world_size, rank_info.world_size - 1));
  }
  // If hosts have different numbers of ranks, no rank can compute which of them share a host.
  if (rank_info.hosts < 1 || rank_info.world_size % rank_info.hosts != 0) rank_info.hosts = 0;
  if (rank_info.local_ranks < 1 || rank_info.local_ranks > rank_info.world_size) rank_info.local_ranks = 1;
  return rank_info;
}

}  // namespace forebay
