#include "loader/distributed.h"

#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

namespace forebay {

namespace {

struct Launcher {
  const char *rank, *world_size, *local_ranks;
};
constexpr Launcher kLaunchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
};

std::optional<int> number(const Environment& environment, const char* name) {
  const std::optional<std::string> text = environment(name);
  int value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Result<Place> find_place(std::optional<int> rank, std::optional<int> world_size, const Environment& environment) {
  Place place;
  for (const Launcher& launcher : kLaunchers) {
    const std::optional<int> found_rank = number(environment, launcher.rank);
    const std::optional<int> found_size = number(environment, launcher.world_size);
    if (!found_rank || !found_size) continue;
    place = {*found_rank, *found_size, number(environment, launcher.local_ranks).value_or(1)};
    break;
  }
  if (world_size && !rank && *world_size != place.world_size) {
    if (*world_size != 1) return invalid_argument(fmt::format("world_size={} needs rank= too", *world_size));
    place.rank = 0;
  }
  if (world_size) place.world_size = *world_size;
  if (rank) place.rank = *rank;
  if (place.world_size < 1)
    return invalid_argument(fmt::format("world_size is {}; it must be 1 or more", place.world_size));
  if (place.rank < 0 || place.rank >= place.world_size) {
    return invalid_argument(
        fmt::format("rank {} is out of range for a world of {}: ranks are 0 to {}; give both rank= and "
                    "world_size=",
                    place.rank, place.world_size, place.world_size - 1));
  }
  if (place.local_ranks < 1 || place.local_ranks > place.world_size) place.local_ranks = 1;
  return place;
}

}  // namespace forebay
