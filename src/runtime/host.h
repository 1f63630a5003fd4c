#pragma once

#include <cstdint>
#include <string_view>

namespace forebay {

/// Cores this process may use: affinity mask and cgroup quota, at least 1.
int usable_cores();
/// Memory this process may use: the smaller of the host's and the cgroup's limit, in bytes.
uint64_t usable_memory();

/// Seconds of some threads, as the kernel counts them.
struct CoreTime {
  double ran = 0;
  double waited = 0;  ///< ready to run, without a core: others had it, or a quota was used up
};
/// Of this process's threads of that name, since each began. Nothing where the kernel does not say (/proc/self/task/*/schedstat).
CoreTime core_time_of_threads(std::string_view name);

}  // namespace forebay
