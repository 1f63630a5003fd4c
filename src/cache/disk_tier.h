#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

#include "base/read_request.h"
#include "cache/cache_folder.h"
#include "cache/entry_store.h"
#include "cache/place_index.h"
#include "cache/segment_writer.h"
#include "forebay/ledger.h"
#include "store/store.h"

namespace forebay {

struct DiskTierOptions {
  std::string dir;
  uint64_t budget_bytes = 0;  ///< for the whole folder, whoever wrote what is in it
  Hash128 place;
  std::string description;
  bool half_of_disk = false;  ///< `budget_bytes` is found when the folder is opened
};

/// One place of a folder of caches, shared with all processes of this host that use it. May be used from any thread.
///
/// What others add is found by reading on in their indices. Each process appends to a segment of its own; nothing that is
/// written is changed. The folder never takes more of the disk than the budget, nor what is left for others: a writer takes
/// room in steps, under the folder's lock, by the real sizes of all files; what it has taken and not used is free again when its lock is gone. Caches of
/// other steps that nobody uses go when room is needed, longest unused first.
///
/// A disk that is full or read-only ends the writing, a folder that is gone or cannot be read ends all: one warning, no error.
class DiskTier {
 public:
  /// InvalidArgument for a folder that is refused or a budget that holds no entry, with the numbers; Unavailable where there is no
  /// writing here. A budget above what the disk has is what the disk has, with one warning.
  static Result<std::unique_ptr<DiskTier>> open(DiskTierOptions options);
  ~DiskTier();
  DiskTier(const DiskTier&) = delete;
  DiskTier& operator=(const DiskTier&) = delete;

  struct Found {
    Store* store;
    ReadRequest request;
  };
  std::optional<Found> find(const Hash128& id);
  bool has(const Hash128& id) const { return index_.find(id).has_value(); }
  bool admits(uint64_t bytes) const;
  /// `entry`: as encode_entry() made it. Writes; true where the entry is there now.
  /// Waits for the disk, on the thread that calls. Of several that put the same entry, in any process, one writes.
  bool put(const Hash128& id, std::span<const uint8_t> entry, double seconds);
  /// The entry's bytes were wrong.
  void damaged(const Hash128& id);
  /// They could not be read: nothing came.
  void unreadable(const Hash128& id);
  void count_hit() { hits_.fetch_add(1, std::memory_order_relaxed); }
  void raise_budget(uint64_t bytes);
  TierStats stats() const;
  const Store& store() const { return *store_; }
  uint64_t index_bytes() const { return index_.memory_bytes(); }

  /// What the folder takes at least: the smallest budget that can keep anything.
  static constexpr uint64_t kLeastBudget = 64 << 10;

 private:
  DiskTier(DiskTierOptions options, CacheFolder folder, CacheFolder place, FileDescriptor lock, FileDescriptor claims);
  bool take_room(uint64_t bytes);
  bool write(const Hash128& id, std::span<const uint8_t> entry, double seconds);
  bool check_there();
  void stop_writing(std::string_view why);
  void stop(std::string_view why);
  void say_once(std::string_view what, std::string_view why);

  const DiskTierOptions options_;
  const std::string place_name_;
  const CacheFolder folder_, place_;
  const FileDescriptor lock_, claims_;
  const std::unique_ptr<EntryStore> store_;
  PlaceIndex index_;

  std::mutex writing_;  ///< of writer_ and writing_now_
  std::unique_ptr<SegmentWriter> writer_;
  std::unordered_set<Hash128, HashOfHash> writing_now_;

  std::atomic<uint64_t> budget_bytes_;
  std::atomic<bool> off_{false}, writing_off_{false};
  mutable std::atomic<uint64_t> room_left_;  ///< an entry larger than this was declined last time
  mutable std::atomic<uint64_t> declined_{0};
  std::atomic<uint64_t> hits_{0}, damaged_{0};
  std::atomic<int64_t> next_look_ns_{0};
  mutable std::mutex why_mutex_;
  std::string why_off_;
};

}  // namespace forebay
