#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// Lists, verifies and clears the caches in a root folder `dir`, for `forebay cache`. The functions
/// may be called from any thread, and while other processes use the caches.

struct CacheInfo {
  std::string name;         ///< 32 hexadecimal digits
  std::string description;  ///< the steps whose results are cached
  uint64_t entries = 0;
  uint64_t entry_bytes = 0;
  /// Bytes on disk, including index files and the space that writers have reserved.
  uint64_t disk_bytes = 0;
  int64_t last_used_ns = 0;  ///< since 1970
  bool in_use = false;
  std::vector<int> users;  ///< ids of processes, as far as the kernel reports them
};
/// Returns the caches in `dir`, sorted by name; none if the folder does not exist. InvalidArgument
/// if the folder is refused.
Result<std::vector<CacheInfo>> list_caches(const std::string& dir);

/// A defect that verify_cache() found.
struct CacheDamage {
  std::string cache;
  std::string where;  ///< "entry 3f2a…", "row 17 of 000000.index"
  std::string what;   ///< the defect, for messages
};
/// Findings of verify_cache().
struct CacheReport {
  uint64_t entries = 0;  ///< entries that were read
  uint64_t bytes = 0;
  std::vector<CacheDamage> damaged;  ///< the first kMaxDamage
  uint64_t damaged_count = 0;
  static constexpr size_t kMaxDamage = 1000;
};
/// Reads every entry of a cache and adds its defects to the report. Changes nothing on disk. Calls
/// `on_read` after each entry with the number of bytes read so far.
Status verify_cache(const std::string& dir, const std::string& cache, std::stop_token stop, CacheReport& report,
                    const std::function<void(uint64_t)>& on_read = nullptr);

/// Removes a cache with all of its entries. InvalidArgument, with the processes, if it is in use;
/// NotFound if it does not exist.
Status clear_cache(const std::string& dir, const std::string& cache);

}  // namespace forebay
