#pragma once

#include <cstdint>
#include <string>

#include "cache/cache_folder.h"

namespace forebay {

/// Limits of cache budgets that follow from the machine. Functions that measure the disk ask the
/// file system at each call, because other programs use the disk, too.

/// Returns the limit of the bytes of all caches on the disk of `root`, also if the disk is empty:
/// its size less a reserve for other programs, a twentieth of the disk and at most 1 GiB.
/// UINT64_MAX if the system does not report the size.
uint64_t max_disk_budget(const CacheFolder& root);
/// Returns the number of free bytes on that disk, less the same reserve. UINT64_MAX if the system
/// does not report it.
uint64_t available_disk_space(const CacheFolder& root);
/// Returns the limit of the memory of one cache: three quarters of the memory available to this
/// process.
uint64_t max_memory_budget();

/// Returns the memory budget of a cache with ram="auto": a quarter of the memory available to this
/// process, divided by the number of `ranks` on this machine.
uint64_t default_memory_budget(int ranks);

/// Returns the smaller of budget and limit. If the limit is smaller, it logs a warning, once in
/// this process, with `argument`, the name of the budget such as "disk", and `where`, the limited
/// resource such as "the disk at /tmp/x".
uint64_t clamp_budget(const std::string& argument, uint64_t budget, uint64_t limit, const std::string& where);

}  // namespace forebay
