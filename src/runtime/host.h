#pragma once

#include <cstdint>

namespace forebay {

/// Cores this process may use: affinity mask and cgroup quota, at least 1.
int usable_cores();
/// Memory this process may use: the smaller of the host's and the cgroup's limit, in bytes.
uint64_t usable_memory();

}  // namespace forebay
