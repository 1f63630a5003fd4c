#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/entry_cache.h"
#include "base/mutex.h"
#include "base/reclaimable_memory.h"
#include "cache/hash_map.h"
#include "pipeline/keyed_stage.h"
#include "stream/replay_steps.h"

namespace forebay {

struct RehearsalStats;

/// Cache key of the result that a rehearsal records for a sample.
Hash128 replay_key(const ReplaySample& sample);

/// In-memory cache of the results of the steps before a `.rehearse(where="here")`. It has an entry
/// for each sample of the replay buffer, with the sample's result if that fits the budget. A
/// missing result is computed again, so batches do not depend on the content. The key is epoch and
/// id of the sample.
///
/// Owned by a ReplayRun, and shared with its plan and its steps. May be called from any thread.
class ReplayRows final : public EntryCache, public ReplayResults, public ReclaimableMemory {
 public:
  explicit ReplayRows(uint64_t most_bytes) : max_bytes_(most_bytes) {}

  void retain(std::span<const ReplaySample> entered) override;
  void release(std::span<const ReplaySample> left) override;
  void retain_only(std::span<const ReplaySample> buffer) override;

  std::optional<Found> find(const EntryRef& entry) override;
  bool has(const Hash128& entry) const override;
  /// Whether the sample is in the replay buffer, its result is missing, and `bytes` fit the budget.
  bool try_admit(const Hash128& entry, uint64_t bytes) const override;
  void put(const EntryRef& entry, std::shared_ptr<const Columns> columns, double seconds, KeepIn where) override;
  /// Fails: every entry is in memory.
  Result<std::shared_ptr<const Columns>> open(const Hash128& entry, Buffer stored) override;

  /// Incremented by every put(). Lets a caller that missed skip re-checking until it changes.
  uint64_t puts() const { return puts_; }
  /// Counts a replayed sample whose result was missing and has been computed again.
  void note_made_again() { ++made_again_; }
  RehearsalStats stats() const;
  uint64_t most_bytes() const { return max_bytes_; }
  uint64_t bytes() const override { return bytes_; }
  uint64_t reclaim(uint64_t bytes) override;

 private:
  struct Entry {
    int64_t times = 0;                           // number of times that the sample is in the replay buffer
    std::shared_ptr<const Columns> result = {};  // null: it is missing
    uint64_t bytes = 0;                          // of the result
  };
  using Entries = std::unordered_map<Hash128, Entry, HashOfHash>;
  bool has_room(uint64_t bytes) const { return bytes_ + bytes <= max_bytes_; }
  /// Sets the result of an entry that has none.
  void set_result(Entry& entry, std::shared_ptr<const Columns> result, uint64_t bytes) FOREBAY_REQUIRES(mutex_);
  /// Moves the result of an entry to `dropped`, which the caller destroys without the lock. Returns
  /// its bytes.
  uint64_t drop_result(Entry& entry, std::vector<std::shared_ptr<const Columns>>& dropped) FOREBAY_REQUIRES(mutex_);

  const uint64_t max_bytes_;
  mutable Mutex mutex_;
  Entries entries_ FOREBAY_GUARDED_BY(mutex_);  // one for each sample of the replay buffer
  uint64_t hits_ FOREBAY_GUARDED_BY(mutex_) = 0;
  std::atomic<uint64_t> made_again_ = 0, puts_ = 0;
  uint64_t results_ FOREBAY_GUARDED_BY(mutex_) = 0;  // number of entries with a result
  std::atomic<uint64_t> bytes_ = 0;                  // of these results
};

/// Cache keys of a `.rehearse(where="here")`: epoch and id of a sample. Results are looked up for
/// replayed samples only, and stored for all samples that may be replayed later.
class ReplayKeys final : public StageKeys {
 public:
  explicit ReplayKeys(std::shared_ptr<ReplayRows> results) : results_(std::move(results)) {}
  std::optional<Identity> lookup_key(const BatchJob& batch, int64_t row) const override;
  std::optional<Identity> store_key(const BatchJob& batch, int64_t row, std::optional<uint64_t> version) const override;
  void on_computed(const BatchJob& batch, int64_t row) const override;
  uint64_t arrivals() const override { return results_->puts(); }

 private:
  const std::shared_ptr<ReplayRows> results_;
};

}  // namespace forebay
