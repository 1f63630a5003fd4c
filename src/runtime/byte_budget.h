#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/reclaimable_memory.h"
#include "runtime/fork_guard.h"

namespace forebay {

/// Uses of memory: the accounts of a budget, named as in stats(). Four of them decide something:
/// kBatches (chunks of later batches leave room for those of the window), kFetched (limits reads
/// ahead), kPool (idle buffers, which BufferPool charges to the use that asks for them) and kCaches
/// (younger batches take less if the oldest one would displace cache entries). The last four are
/// not part of what a loader takes for its batches: the indexes of its data set and caches, and
/// reclaimable memory of the process (cache entries, idle memory of stores and of column decoders).
enum class Use : uint8_t { kBatches, kFetched, kWorking, kPool, kChunks, kIndex, kCaches, kReads, kColumns };
constexpr size_t kUses = 9;

/// A limit on the bytes of a loader, with the bytes charged for each use. All methods may be called
/// from any thread, and none waits.
///
/// Reclaimable memory (ReclaimableMemory) is shared between loaders. Each loader that uses it
/// counts it in full, so that no loader's sum is too low.
class ByteBudget {
 public:
  struct Snapshot {
    uint64_t capacity = 0, used = 0, peak = 0;  ///< `used` is the sum of `by_use`
    uint64_t idle = 0;                          ///< part of `used`: idle, can be reclaimed
    uint64_t reserved = 0;                      ///< in addition to `used`: for future cache entries
    std::array<uint64_t, kUses> by_use{};
    uint64_t of(Use use) const { return by_use[static_cast<size_t>(use)]; }
  };

  explicit ByteBudget(uint64_t capacity) : generation_(process_generation()), capacity_(capacity) {}

  uint64_t capacity() const;
  /// Sets the capacity. If more is charged already, nothing new fits until enough is released.
  void set_capacity(uint64_t capacity);
  /// Charges `bytes`. Returns false and charges nothing if they do not fit.
  bool try_charge(Use use, uint64_t bytes);
  /// Charges bytes that exist already, such as results of user code. May exceed the capacity; then
  /// nothing else fits.
  void charge_existing(Use use, uint64_t bytes);
  void release(Use use, uint64_t bytes);
  /// Charges the same bytes to another use.
  void move(Use from, Use to, uint64_t bytes);
  Snapshot snapshot() const;

  /// Kinds of reclaimable memory. Any request may reclaim idle memory. Cache entries are of value,
  /// so only the oldest element may reclaim them.
  enum class Kind : uint8_t { kIdle, kEntries };
  /// Reclaimable memory outside a loader that its budget counts. Other loaders may use it, too.
  struct Account {
    Use use;
    std::shared_ptr<ReclaimableMemory> memory;
    Kind kind = Kind::kIdle;
    uint64_t most = UINT64_MAX;  ///< limit of the bytes that this budget counts
    /// Bytes reserved for cache entries before the entries exist. Without the reservation other
    /// uses would take that memory, and they or the entries would have to be reclaimed again and
    /// again.
    uint64_t reserved = 0;
    /// Bytes by which the account raises the capacity of the loader above its share of the memory.
    uint64_t extra = 0;
    uint64_t bytes() const { return std::min(memory->bytes(), most); }
  };
  /// Counts the memory of the account from now on.
  void open(Account account);
  /// Reclaims memory of that kind so that `bytes` more fit. For cache entries (the oldest element)
  /// it first suspends reservations; release() restores them. Returns whether this gained any
  /// bytes.
  bool reclaim(Kind kind, uint64_t bytes);
  /// Stops counting reclaimable memory and drops the references to it.
  void close_accounts();

 private:
  uint64_t reclaimable() const FOREBAY_REQUIRES(mutex_);
  // Bytes reserved for cache entries that do not exist yet.
  uint64_t unfilled_reservations() const FOREBAY_REQUIRES(mutex_);
  // The part of unfilled_reservations() that is not suspended.
  uint64_t reserved() const FOREBAY_REQUIRES(mutex_);

  const uint64_t generation_;
  mutable Mutex mutex_;
  uint64_t capacity_ FOREBAY_GUARDED_BY(mutex_);
  uint64_t used_ FOREBAY_GUARDED_BY(mutex_) = 0;
  uint64_t peak_ FOREBAY_GUARDED_BY(mutex_) = 0;
  uint64_t suspended_ FOREBAY_GUARDED_BY(mutex_) = 0;  // bytes of reservations that the oldest element uses
  std::array<uint64_t, kUses> by_use_ FOREBAY_GUARDED_BY(mutex_){};
  std::vector<Account> accounts_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
