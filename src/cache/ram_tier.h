#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/columns.h"
#include "base/kept_bytes.h"
#include "cache/hash_map.h"
#include "cache/keep_policy.h"
#include "forebay/ledger.h"

namespace forebay {

/// Entries in memory, within a budget that counts what keeping them costs too. May be used from any thread.
class RamTier final : public KeptBytes {
 public:
  explicit RamTier(uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}

  std::shared_ptr<const Columns> find(const Hash128& id);
  bool has(const Hash128& id) const;
  /// The same as find(), and no use of it.
  std::shared_ptr<const Columns> peek(const Hash128& id) const;
  /// Whether there is room for an entry of that many bytes: free, or taken by entries that give way to one that saves something.
  bool fits(uint64_t bytes) const;
  /// Whether it is free.
  bool free_for(uint64_t bytes) const;
  /// `memory_bytes`: what the columns hold on to, which must be theirs alone. `on_disk`: losing them costs a read and not the
  /// `seconds` that they took to make. True where they are kept (also from before). Entries that are on disk, or saved nothing, give way to others.
  bool put(const Hash128& id, std::shared_ptr<const Columns> columns, uint64_t memory_bytes, double seconds,
           bool on_disk);
  /// A budget never falls while the tier lives.
  void raise_budget(uint64_t bytes);
  TierStats stats() const;
  /// Of its entries; a loader that uses the tier counts them.
  uint64_t bytes() const override { return used_bytes_.load(std::memory_order_relaxed); }
  /// Entries go that saved the fewest seconds per byte.
  uint64_t give_back(uint64_t bytes) override;

  /// What an entry costs besides its bytes: schema, map, allocations.
  static uint64_t overhead_bytes(const Columns& columns);

 private:
  struct Entry {
    std::shared_ptr<const Columns> columns;
    uint64_t bytes = 0;
    bool on_disk = false;
  };
  std::shared_ptr<const Columns> drop(const Hash128& id);

  mutable std::mutex mutex_;
  uint64_t budget_bytes_;
  std::atomic<uint64_t> used_bytes_{0};  ///< written with the lock held
  uint64_t on_disk_bytes_ = 0;           ///< of these, entries that lie on disk too
  KeepPolicy policy_;
  std::unordered_map<Hash128, Entry, HashOfHash> entries_;
  uint64_t hits_ = 0, declined_ = 0;
};

}  // namespace forebay
