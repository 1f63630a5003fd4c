#pragma once

#include <pthread.h>

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace forebay {

/// Cores that the calling thread may use: its affinity mask and the quotas of its control groups, at least 1. Part of a core counts
/// as one.
int usable_cores();
/// The same for another thread of this process.
int usable_cores(pthread_t thread);
/// Memory this process may use: the smallest of the host's and its control groups' limits, in bytes.
uint64_t usable_memory();

/// Limits of control groups, that of the process and all above it: the least counts. Infinity where there is none.
struct GroupLimits {
  double cores, memory_bytes;
};
/// `mounted`: where the groups are files; `membership`: which ones are the process's. Both versions of the interface.
GroupLimits group_limits(const std::filesystem::path& mounted = "/sys/fs/cgroup",
                         const std::filesystem::path& membership = "/proc/self/cgroup");

/// Seconds of some threads, as the kernel counts them.
struct CoreTime {
  double ran = 0;
  double waited = 0;  ///< ready to run, without a core: others had it, or a quota was used up
};
/// Of this process's threads of that name, since each began. Nothing where the kernel does not say (/proc/self/task/*/schedstat).
CoreTime core_time_of_threads(std::string_view name);

}  // namespace forebay
