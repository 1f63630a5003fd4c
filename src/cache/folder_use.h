#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/cache_folder.h"

namespace forebay {

struct PlaceUse {
  std::string name;
  uint64_t bytes = 0;        ///< of the disk, what its writers may still take included
  int64_t last_used_ns = 0;  ///< since 1970
  bool in_use = false;       ///< some process holds its lock
};

/// How much of the disk a folder of caches takes. Only under its FolderLock, so that nothing grows its limits meanwhile.
struct FolderUse {
  uint64_t bytes = 0;
  std::vector<PlaceUse> places;
};
/// Looks at every file of the folder: for opening, growing and removing, never for a look-up.
FolderUse measure_folder(const CacheFolder& folder);

/// Removes what an earlier removal left half done. Under the FolderLock, as the two below.
void finish_removals(const CacheFolder& folder);
/// Removes a place that nobody uses; false where it cannot be removed.
bool remove_place(const CacheFolder& folder, const std::string& name);
/// Removes places that nobody uses, longest unused first, until `wanted` bytes of `budget_bytes` are free, on the disk as
/// well; how many are then.
uint64_t make_room(const CacheFolder& folder, uint64_t budget_bytes, uint64_t wanted);

/// Processes that hold the lock of a place, as far as the kernel tells.
std::vector<int> users_of_place(const CacheFolder& place);

}  // namespace forebay
