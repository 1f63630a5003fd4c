#pragma once

#include <cstdint>
#include <string>

#include "cache/cache_folder.h"

namespace forebay {

/// The most that caches may take of a folder's disk, however empty it is: all but a reserve for everybody else, a twentieth of it and
/// at most 1 GiB. UINT64_MAX where the system does not tell.
/// Bytes, all of them. Asks the file system each time: the answers change under whoever uses the disk.
uint64_t disk_limit(const CacheFolder& folder);
/// How much they may take now beside what they have, by the same reserve; UINT64_MAX where the system does not tell.
uint64_t disk_spare(const CacheFolder& folder);
/// The most that a cache may take of the memory that this process may use: three quarters.
uint64_t memory_limit();

/// What "auto" is for entries in memory: a quarter of the memory that this process may use, shared with the other `ranks` on this machine.
uint64_t usual_memory(int ranks);

/// The budget, or the limit where that is less: then one warning in this process says so. `argument`: its name, "disk"; `where`: who
/// has no more, "the disk at /tmp/x".
uint64_t limited(const std::string& argument, uint64_t budget, uint64_t limit, const std::string& where);

}  // namespace forebay
