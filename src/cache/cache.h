#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/entry_cache.h"
#include "base/kept_bytes.h"
#include "cache/compression.h"
#include "cache/keep_policy.h"
#include "forebay/ledger.h"

namespace forebay {

struct CacheOptions {
  /// Of `disk_bytes`: half of what is free on the disk or taken by the folder already, as it is when the folder is opened.
  static constexpr uint64_t kHalfOfDisk = UINT64_MAX;

  uint64_t ram_bytes = 0;        ///< 0: nothing is kept in memory
  uint64_t disk_bytes = 0;       ///< 0: nothing is kept on disk
  std::string dir = {};          ///< empty: default_cache_folder()
  Hash128 place;                 ///< identity of the steps whose results are kept
  std::string description = {};  ///< of these steps, for people; without secrets
  Compression compression = Compression::kNone;
  /// What any entry takes at least, where that is known: budgets that could keep none are refused.
  uint64_t entry_bytes = 0;
};

/// The tiers of one place: memory, then disk. Caches of the same place and folder are one within a process; its budgets are the
/// largest that any of their users gave.
class TieredCache : public EntryCache {
 public:
  virtual CacheStats stats() const = 0;
  /// The bytes of an entry as they lie in a tier (compressed on disk, perhaps), for another host; nothing where there are none. May wait for the disk, and counts as no
  /// use.
  virtual std::optional<Buffer> stored(const Hash128& entry) = 0;
  /// The entry whose bytes another host gave, checked as open() checks those of the disk; it is kept in memory that nobody needs.
  virtual Result<std::shared_ptr<const Columns>> adopt(const Hash128& entry, Buffer stored) = 0;
  /// Where its entries on disk are read from; null without a disk. Lasts as long as the cache.
  virtual const Store* disk() const = 0;
  /// Its entries in memory, and what knows those on disk: for whoever counts what is in memory.
  virtual std::shared_ptr<KeptBytes> entries() = 0;
  virtual std::shared_ptr<KeptBytes> index() = 0;
};

/// InvalidArgument where a budget is less than one entry takes or the folder is refused, with the numbers and the way out. A budget is
/// a limit: where the machine has less, that is used, less a reserve, and one warning says so. Where the disk
/// cannot be written to, one warning is logged and that tier is off.
///
/// In the child of a fork a cache finds and keeps nothing: open it anew.
Result<std::shared_ptr<TieredCache>> open_cache(const CacheOptions& options);

}  // namespace forebay
