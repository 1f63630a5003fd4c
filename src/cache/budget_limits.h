#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cache/cache_folder.h"

namespace forebay {

/// Limits of cache budgets that follow from the machine. Functions that measure the disk ask the
/// file system at each call, because other programs use the disk, too.

/// Returns the limit of the bytes of all caches on the disk of `root`, also if the disk is empty:
/// its size less a reserve for other programs, a twentieth of the disk and at most 1 GiB.
/// UINT64_MAX, no limit, if the system does not report the size.
uint64_t max_disk_budget(const CacheFolder& root);
/// Returns the number of free bytes on that disk, less the same reserve. UINT64_MAX, no limit,
/// if the system does not report it.
uint64_t available_disk_space(const CacheFolder& root);
/// Returns the limit of the memory of one cache: three quarters of the memory available to this
/// process.
uint64_t max_memory_budget();

/// Returns the memory budget of a cache with ram="auto": a quarter of the memory available to this
/// process, divided by the number of `ranks` on this machine.
uint64_t default_memory_budget(int ranks);

/// Returns the limit of all cache entries in the memory of a loader: half of the limit that the
/// user set for it, because batches need the other half. UINT64_MAX if the user set none.
constexpr uint64_t max_cache_bytes(std::optional<uint64_t> memory_limit) {
  return memory_limit ? *memory_limit / 2 : UINT64_MAX;
}

/// Returns the smaller of budget and limit. If the limit is smaller, it logs a warning, once in
/// this process, with `budget_name`, such as "disk", and `resource`, the limited one, such as "the
/// disk at /tmp/x".
uint64_t clamp_budget(const std::string& budget_name, uint64_t budget, uint64_t limit, const std::string& resource);

}  // namespace forebay
