#pragma once

#include <cstdint>
#include <string>

namespace forebay {

/// One tier of a cache.
struct TierStats {
  uint64_t hits = 0, entries = 0;
  uint64_t bytes = 0, budget_bytes = 0;  ///< used and allowed by its entries; budget 0: tier off
  uint64_t declined = 0;                 ///< entries that were offered and did not fit
  uint64_t damaged = 0;                  ///< entries that were found damaged and computed again
  std::string off;                       ///< why a requested tier is off
};

/// A `.cache()` of the pipeline.
struct CacheStats {
  std::string place;        ///< identifies the cached results: 32 hexadecimal digits
  std::string description;  ///< describes the steps whose results are cached
  TierStats ram, disk;
  uint64_t misses = 0;       ///< requested entries that no tier of this host had
  uint64_t peer_hits = 0;    ///< misses that another host of the job answered
  uint64_t index_bytes = 0;  ///< memory of the index of the disk tier
  uint64_t seen_bytes = 0;   ///< size of all distinct entries requested; estimated if many
  double hit_ratio = 0;      ///< hits of all tiers ÷ requests, since the cache was opened
  double optimum = 0;        ///< best ratio that the budgets allow in a sweep over all entries
};

}  // namespace forebay
