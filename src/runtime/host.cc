#include "runtime/host.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>

namespace forebay {

namespace {

// The value of the first of several one-number files that exists and is a number, else `otherwise`.
double read_number(std::initializer_list<const char*> paths, double otherwise) {
  for (const char* path : paths) {
    std::ifstream file(path);
    double value;
    if (file >> value) return value;
  }
  return otherwise;
}

double cgroup_cores() {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period;
  if (v2 >> quota >> period) return quota == "max" || period <= 0 ? kNone : std::stod(quota) / period;
  const double quota_us = read_number({"/sys/fs/cgroup/cpu/cpu.cfs_quota_us"}, -1);
  const double period_us = read_number({"/sys/fs/cgroup/cpu/cpu.cfs_period_us"}, -1);
  return quota_us > 0 && period_us > 0 ? quota_us / period_us : kNone;
}

}  // namespace

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int affinity =
      sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const double quota = std::ceil(cgroup_cores());
  return std::max(1, static_cast<int>(std::min<double>(affinity, quota)));
}

uint64_t usable_memory() {
  const double host = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  const double limit = read_number({"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}, host);
  return static_cast<uint64_t>(std::min(host, limit));
}

CoreTime core_time_of_threads(std::string_view name) {
  CoreTime all;
  std::error_code error;  // threads come and go meanwhile
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream named(thread.path() / "comm"), counted(thread.path() / "schedstat");
    std::string its_name;
    double ran_ns = 0, waited_ns = 0;
    if (!std::getline(named, its_name) || its_name != name || !(counted >> ran_ns >> waited_ns)) continue;
    all.ran += ran_ns * 1e-9;
    all.waited += waited_ns * 1e-9;
  }
  return all;
}

}  // namespace forebay
