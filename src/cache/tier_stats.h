#pragma once

#include <cstdint>
#include <string>

namespace forebay {

/// One tier of one place.
struct TierStats {
  uint64_t hits = 0;
  uint64_t entries = 0;
  uint64_t bytes = 0;         ///< of entries
  uint64_t budget_bytes = 0;  ///< 0: the tier is off
  uint64_t declined = 0;      ///< entries offered for which there was no room
  uint64_t damaged = 0;       ///< entries found damaged, and dropped
  std::string off;            ///< why a tier that was asked for is off; empty where it is on
};

/// All that `stats()["caches"]` says of one place.
/// Counted since the cache was opened by the first of its users in this process.
struct CacheStats {
  std::string place;        ///< 32 hexadecimal digits
  std::string description;  ///< of the steps whose results are kept
  TierStats ram, disk;
  uint64_t misses = 0;
  uint64_t index_bytes = 0;  ///< memory that knows what is on disk
  uint64_t seen_bytes = 0;   ///< of all different entries that were asked for (estimated beyond some thousands)
  double hit_ratio = 0;      ///< hits of all tiers ÷ what was asked for, since the cache was opened
  double optimum = 0;        ///< the best that the budgets allow in a sweep: min(1, budget ÷ seen bytes)
};

}  // namespace forebay
