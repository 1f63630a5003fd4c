#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/cache_folder.h"

namespace forebay {

/// Disk use of one cache.
struct CacheDiskUse {
  std::string name;
  uint64_t bytes = 0;        ///< on disk, including what its writers may still use
  int64_t last_used_ns = 0;  ///< since 1970
  bool in_use = false;       ///< a process holds its lock
};

/// Disk use of the root folder and of the caches in it. Measured under the FolderLock, so that no
/// writer raises its limits meanwhile.
struct FolderUse {
  uint64_t bytes = 0;
  std::vector<CacheDiskUse> caches;
};
/// Measures every file below the root. Used when a cache is opened, grown or removed, and never for
/// a look-up.
FolderUse measure_folder(const CacheFolder& root);

/// Completes interrupted removals. Called under the FolderLock, as the next two functions.
void finish_removals(const CacheFolder& root);
/// Removes a cache that no process uses. Returns false if it cannot be removed.
bool remove_cache(const CacheFolder& root, const std::string& name);
/// Removes unused caches, least recently used first, until `wanted` bytes of `budget_bytes` are
/// free, on the disk as well. Returns the number of bytes that are free then.
uint64_t make_room(const CacheFolder& root, uint64_t budget_bytes, uint64_t wanted);

/// Returns the ids of the processes that hold the lock of a cache, as far as the kernel reports
/// them.
std::vector<int> cache_users(const CacheFolder& cache);

}  // namespace forebay
