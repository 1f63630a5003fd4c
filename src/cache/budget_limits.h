#pragma once

#include <cstdint>
#include <string>

#include "cache/cache_folder.h"

namespace forebay {

/// Returns the most bytes that caches may use of a folder's disk, however empty it is: all but a
/// reserve for other programs, which is a twentieth of the disk and at most 1 GiB. UINT64_MAX if
/// the system does not tell. Asks the file system each time, because the answer changes with every
/// use of the disk.
uint64_t max_disk_budget(const CacheFolder& folder);
/// Returns how many more bytes they may use now, by the same reserve. UINT64_MAX if the system does
/// not tell.
uint64_t available_disk_space(const CacheFolder& folder);
/// Returns the most bytes that a cache may use of the memory available to this process: three
/// quarters.
uint64_t max_memory_budget();

/// Returns the value of "auto" for entries in memory: a quarter of the memory available to this
/// process, shared with the other `ranks` on this machine.
uint64_t default_memory_budget(int ranks);

/// Returns the smaller of budget and limit. If the limit is smaller, one warning in this process
/// says so, with `argument`, the budget's name such as "disk", and `where`, the limited resource
/// such as "the disk at /tmp/x".
uint64_t clamp_budget(const std::string& argument, uint64_t budget, uint64_t limit, const std::string& where);

}  // namespace forebay
