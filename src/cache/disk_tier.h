#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "base/mutex.h"
#include "base/read_request.h"
#include "cache/cache_folder.h"
#include "cache/cache_index.h"
#include "cache/entry_store.h"
#include "cache/segment_writer.h"
#include "store/store.h"

namespace forebay {

struct TierStats;

struct DiskTierOptions {
  std::string dir;
  uint64_t budget_bytes = 0;  ///< for the whole root folder, including the files of other processes
  Hash128 cache_id;
  std::string description;    ///< of the cached steps, for people
  bool half_of_disk = false;  ///< `budget_bytes` is determined when the tier is opened
};

/// The entries of one cache on disk, in its folder below the root folder. All processes of this
/// host that open the cache share them. Methods may be called from any thread; put() may wait for
/// the disk.
///
/// Each process appends to a segment of its own and never changes bytes that it has written. It
/// finds the entries of other processes by reading the rows that they have appended to their index
/// files.
///
/// Invariant: the root folder never uses more of the disk than the budget, and never the reserve
/// for other programs. So a writer reserves space before it writes: in steps, under the FolderLock,
/// after measuring all files. When a writer ends, the space that it has reserved and not used is
/// free again. If space is needed, unused caches are removed, least recently used first.
///
/// If the disk is full or read-only, the tier stops writing. If its folder is removed or cannot be
/// read, the tier is disabled. Either way it logs one warning, and callers see misses instead of
/// errors.
class DiskTier {
 public:
  /// Opens the tier. InvalidArgument, with the numbers, if the folder is refused or the budget
  /// holds no entry; Unavailable if the folder cannot be written to. A budget above what the disk
  /// has is reduced to that, with one warning.
  static Result<std::unique_ptr<DiskTier>> open(DiskTierOptions options);
  ~DiskTier();
  DiskTier(const DiskTier&) = delete;
  DiskTier& operator=(const DiskTier&) = delete;

  struct Found {
    Store* store;
    ReadRequest request;
  };
  /// Returns where the bytes of an entry are read from. After a miss it may read index files, at
  /// most ten times a second.
  std::optional<Found> find(const Hash128& id);
  bool has(const Hash128& id) const { return index_.find(id).has_value(); }
  /// Returns whether put() should be tried with an entry of that size. Counts an entry that does
  /// not fit as declined. Some of these are tried nevertheless, because other processes free space.
  bool try_admit(uint64_t bytes) const;
  /// Writes an entry, encoded by encode_entry(), on the calling thread. Returns whether the tier
  /// has it now. If several callers, in any process, put the same entry, one of them writes it.
  bool put(const Hash128& id, std::span<const uint8_t> entry, double seconds);
  /// Reports that the entry's bytes were wrong: the tier removes the entry.
  void report_damaged(const Hash128& id);
  /// Reports that a read of the entry gave no bytes. Disables the tier if the device is at fault,
  /// and otherwise removes the entry. Ignored if no read of the tier has failed.
  void report_unreadable(const Hash128& id);
  void count_hit() { hits_.fetch_add(1, std::memory_order_relaxed); }
  void raise_budget(uint64_t bytes);
  TierStats stats() const;
  const Store& store() const { return *store_; }
  uint64_t index_bytes() const { return index_.memory_bytes(); }

  /// The smallest budget that can hold any entry.
  static constexpr uint64_t kLeastBudget = 64 << 10;

 private:
  DiskTier(DiskTierOptions options, CacheFolder root, CacheFolder folder, FileDescriptor lock, FileDescriptor claims);
  bool reserve_disk_space(uint64_t bytes) FOREBAY_REQUIRES(write_mutex_);
  bool write(const Hash128& id, std::span<const uint8_t> entry, double seconds);
  /// Returns whether the folder still exists, and disables the tier if it does not.
  bool verify_folder();
  void disable_writes(std::string_view why);
  void disable(std::string_view why);
  void warn_once(std::string_view what, std::string_view why);

  const DiskTierOptions options_;
  const std::string cache_name_;
  const CacheFolder root_, folder_;
  const FileDescriptor lock_, claims_;
  const std::unique_ptr<EntryStore> store_;
  CacheIndex index_;

  Mutex write_mutex_;
  /// Never replaced once it is made, so that data is written without the lock.
  std::unique_ptr<SegmentWriter> writer_ FOREBAY_GUARDED_BY(write_mutex_);
  std::unordered_set<Hash128, HashOfHash> entries_being_written_ FOREBAY_GUARDED_BY(write_mutex_);

  std::atomic<uint64_t> budget_bytes_;
  std::atomic<bool> disabled_{false}, writes_disabled_{false};
  /// Larger entries are declined: the free bytes of the segment when an entry last found no space.
  mutable std::atomic<uint64_t> largest_admitted_;
  mutable std::atomic<uint64_t> declined_{0};
  std::atomic<uint64_t> hits_{0}, damaged_{0};
  std::atomic<int64_t> next_refresh_ns_{0};
  mutable Mutex reason_mutex_;
  std::string disabled_reason_ FOREBAY_GUARDED_BY(reason_mutex_);
};

}  // namespace forebay
