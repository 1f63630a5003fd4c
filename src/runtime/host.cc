#include "runtime/host.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>

#include "base/folder_entries.h"

namespace forebay {

namespace {

namespace fs = std::filesystem;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Number in a file of one number. Infinity if the file does not exist or holds a word ("max").
double read_number(const fs::path& path) {
  std::ifstream file(path);
  double value;
  return file >> value ? value : kNoLimit;
}

// Version 2 of the interface has quota and period in one file, "200000 100000" or "max 100000".
double cores_of(const fs::path& group) {
  std::ifstream v2(group / "cpu.max");
  std::string quota;
  double period_us;
  if (v2 >> quota >> period_us) {
    char* end = nullptr;
    const double quota_us = std::strtod(quota.c_str(), &end);
    return end == quota.c_str() || quota_us <= 0 || period_us <= 0 ? kNoLimit : quota_us / period_us;
  }
  const double quota_us = read_number(group / "cpu.cfs_quota_us");  // -1: no quota
  const double period = read_number(group / "cpu.cfs_period_us");
  return quota_us > 0 && quota_us < kNoLimit && period > 0 && period < kNoLimit ? quota_us / period : kNoLimit;
}

double memory_of(const fs::path& group) {
  return std::min(read_number(group / "memory.max"), read_number(group / "memory.limit_in_bytes"));
}

// Whether a comma-separated list of controllers contains the name `one`.
bool names_controller(std::string_view controllers, std::string_view one) {
  for (;;) {
    const size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == one) return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
}

// Minimum over the group and its ancestors up to the root of the mount. In a container the mount
// may begin at the group itself, so that the group's path does not exist there.
template <typename Read>
double min_over_ancestors(const fs::path& mounted, const std::string& group, Read read) {
  double least = read(mounted);
  for (fs::path at = fs::path(group).relative_path(); !at.empty(); at = at.parent_path())
    least = std::min(least, read(mounted / at));
  return least;
}

int cores_in(const cpu_set_t& set, bool known) {
  const double allowed = known ? CPU_COUNT(&set) : static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  // Read anew at each call: quotas of running containers change (Engine::update_cores()).
  return std::max(1, static_cast<int>(std::min(allowed, std::ceil(group_limits().cores))));
}

}  // namespace

GroupLimits group_limits(const fs::path& mounted, const fs::path& membership) {
  // Version 1 has a mount for each controller below `mounted`, version 2 has one for all.
  GroupLimits limits{std::min(cores_of(mounted), cores_of(mounted / "cpu")),
                     std::min(memory_of(mounted), memory_of(mounted / "memory"))};
  std::ifstream lines(membership);
  // Lines have the form number:controllers:path, with no controllers in version 2.
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    const bool all = controllers.empty();
    if (all || names_controller(controllers, "cpu"))
      limits.cores = std::min(limits.cores, min_over_ancestors(all ? mounted : mounted / "cpu", group, cores_of));
    if (all || names_controller(controllers, "memory"))
      limits.memory_bytes =
          std::min(limits.memory_bytes, min_over_ancestors(all ? mounted : mounted / "memory", group, memory_of));
  }
  return limits;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
  return cores_in(set, known);
}

int usable_cores(pthread_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool known = pthread_getaffinity_np(thread, sizeof set, &set) == 0;
  return cores_in(set, known);
}

uint64_t usable_memory() {
  const double host = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  // Version 1 expresses "no limit" by a number near 2^63, which is above the host's memory.
  return static_cast<uint64_t>(std::min(host, group_limits().memory_bytes));
}

CoreTime core_time_of_threads(std::string_view name) {
  CoreTime all;
  // Threads may begin and end meanwhile.
  for (const std::filesystem::path& thread : entries_of("/proc/self/task")) {
    std::ifstream named(thread / "comm"), counted(thread / "schedstat");
    std::string its_name;
    double ran_ns = 0, waited_ns = 0;
    if (!std::getline(named, its_name) || its_name != name || !(counted >> ran_ns >> waited_ns)) continue;
    all.ran += ran_ns * 1e-9;
    all.waited += waited_ns * 1e-9;
  }
  return all;
}

}  // namespace forebay
