#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/entry_cache.h"
#include "base/reclaimable_memory.h"
#include "cache/compression.h"
#include "cache/keep_policy.h"

namespace forebay {

struct CacheStats;

struct CacheOptions {
  /// For `disk_bytes`: half of the bytes that are free on the disk or used by the folder when the
  /// folder is opened.
  static constexpr uint64_t kHalfOfDisk = UINT64_MAX;

  uint64_t ram_bytes = 0;   ///< 0: no tier in memory
  uint64_t disk_bytes = 0;  ///< 0: no tier on disk
  std::string dir = {};     ///< empty: default_cache_folder()
  Hash128 cache_id;         ///< identity of the steps whose results are cached
  /// Description of these steps for people, without secrets.
  std::string description = {};
  Compression compression = Compression::kNone;
  /// Least size of an entry, if known: smaller budgets are refused.
  uint64_t entry_bytes = 0;
};

/// One cache: a tier in memory, then a tier on disk. All users of a process that open the same
/// cache in the same folder share one object, whose budgets are the largest that any of them gave.
/// Methods may be called from any thread.
class TieredCache : public EntryCache {
 public:
  virtual CacheStats stats() const = 0;
  /// Returns the bytes of an entry as a tier stores them (on disk perhaps compressed), for another
  /// host; nothing if no tier has it. May wait for the disk, and does not count as a use of the
  /// entry.
  virtual std::optional<Buffer> stored(const Hash128& entry) = 0;
  /// Decodes an entry that another host sent, with the same checks as open(). Adds the result to
  /// the tier in memory if it fits without an eviction.
  virtual Result<std::shared_ptr<const Columns>> adopt(const Hash128& entry, Buffer stored) = 0;
  /// Returns the store from which the entries on disk are read; null without a disk tier. It lives
  /// as long as the cache.
  virtual const Store* disk() const = 0;
  /// Return the memory of the entries in memory, and of the index of the entries on disk. Loaders
  /// count both in their budgets.
  virtual std::shared_ptr<ReclaimableMemory> entries() = 0;
  virtual std::shared_ptr<ReclaimableMemory> index() = 0;
};

/// Opens a cache. InvalidArgument, with the numbers and a remedy, if a budget is smaller than one
/// entry or the folder is refused. A budget is a limit: if the machine has less, the cache uses
/// that, less a reserve, and logs one warning. If the disk cannot be written to, one warning is
/// logged and that tier is off.
///
/// In the child of a fork a cache finds nothing and stores nothing: open it again.
Result<std::shared_ptr<TieredCache>> open_cache(const CacheOptions& options);

}  // namespace forebay
