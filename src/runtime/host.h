#pragma once

#include <pthread.h>

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace forebay {

/// Number of cores that the calling thread may use, by its affinity mask and the quotas of its
/// control groups, at least 1. A fraction of a core counts as one.
int usable_cores();
/// The same for another thread of this process.
int usable_cores(pthread_t thread);
/// Memory that this process may use in bytes: the smallest limit of the host and its control
/// groups.
uint64_t usable_memory();

/// Limits of the process's control group and all its ancestors: the smallest counts. Infinity if
/// there is no limit.
struct GroupLimits {
  double cores, memory_bytes;
};
/// Reads the limits from both versions of the interface. `mounted` is the mount point of the
/// control groups, and `membership` the file that lists those of the process.
GroupLimits group_limits(const std::filesystem::path& mounted = "/sys/fs/cgroup",
                         const std::filesystem::path& membership = "/proc/self/cgroup");

/// CPU seconds of some threads, as counted by the kernel.
struct CoreTime {
  double ran = 0;
  double waited = 0;  ///< ready to run, but without a core or beyond a quota
};
/// Sum over this process's threads of that name, each since it began. Zero if the kernel does not
/// provide the figures (/proc/self/task/*/schedstat).
CoreTime core_time_of_threads(std::string_view name);

}  // namespace forebay
