#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "base/columns.h"
#include "base/mutex.h"
#include "base/reclaimable_memory.h"
#include "cache/hash_map.h"
#include "cache/keep_policy.h"

namespace forebay {

struct TierStats;

/// Entries in memory, within a budget that includes the overhead of each entry. Methods may be
/// called from any thread.
class RamTier final : public ReclaimableMemory {
 public:
  explicit RamTier(uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}

  std::shared_ptr<const Columns> find(const Hash128& id);
  bool has(const Hash128& id) const;
  /// Returns the same as find(), without counting a use.
  std::shared_ptr<const Columns> peek(const Hash128& id) const;
  /// Returns whether an entry of that many bytes would be admitted: into free memory, or in place
  /// of entries that save less.
  bool fits(uint64_t bytes) const;
  /// Returns whether that many bytes are free.
  bool free_for(uint64_t bytes) const;
  /// Adds an entry. `memory_bytes`: the memory that the columns own, which nothing else may use.
  /// `on_disk`: if it is evicted, it costs a read instead of the `seconds` that it took to compute.
  /// Returns whether the tier has it now. Evicts entries that are on disk, or that saved no time,
  /// to make space.
  bool put(const Hash128& id, std::shared_ptr<const Columns> columns, uint64_t memory_bytes, double seconds,
           bool on_disk);
  /// Raises the budget. It never falls while the tier lives.
  void raise_budget(uint64_t bytes);
  TierStats stats() const;
  /// Returns the memory of the entries. A loader that uses the tier counts it.
  uint64_t bytes() const override { return used_bytes_.load(std::memory_order_relaxed); }
  /// Evicts the entries that saved the fewest seconds per byte.
  uint64_t reclaim(uint64_t bytes) override;

  /// Returns the overhead of an entry beyond its bytes: schema, map, allocations.
  static uint64_t overhead_bytes(const Columns& columns);

 private:
  struct Entry {
    std::shared_ptr<const Columns> columns;
    uint64_t bytes = 0;
    bool on_disk = false;
  };
  /// Removes an entry. The caller destroys the returned columns after it has released the lock.
  std::shared_ptr<const Columns> remove(const Hash128& id) FOREBAY_REQUIRES(mutex_);
  uint64_t free_bytes() const FOREBAY_REQUIRES(mutex_);

  mutable Mutex mutex_;
  uint64_t budget_bytes_ FOREBAY_GUARDED_BY(mutex_);
  std::atomic<uint64_t> used_bytes_{0};                    ///< written under the lock
  uint64_t on_disk_bytes_ FOREBAY_GUARDED_BY(mutex_) = 0;  ///< part of used_bytes_: entries that are also on disk
  KeepPolicy policy_ FOREBAY_GUARDED_BY(mutex_);
  std::unordered_map<Hash128, Entry, HashOfHash> entries_ FOREBAY_GUARDED_BY(mutex_);
  uint64_t hits_ FOREBAY_GUARDED_BY(mutex_) = 0;
  uint64_t declined_ FOREBAY_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay
