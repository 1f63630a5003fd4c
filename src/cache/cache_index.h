#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "base/shared_mutex.h"
#include "cache/cache_folder.h"
#include "cache/hash_map.h"
#include "cache/segment_format.h"

namespace forebay {

/// The index of one place: reads the index files of all processes' segments, and later the rows
/// added to them. Methods may be called from any thread; find() never waits for a disk.
class CacheIndex {
 public:
  struct Location {
    uint32_t segment = 0;
    uint64_t row_at = 0;  ///< in the index file
    uint64_t offset = 0;
    uint64_t bytes = 0;
    double seconds = 0;
  };

  std::optional<Location> find(const Hash128& id) const;
  /// Reads the rows that were added since. `folder` must exist.
  void refresh(const CacheFolder& folder);
  /// Does the same, unless another thread does it now.
  void try_refresh(const CacheFolder& folder);
  /// Removes an entry. From now on no process finds it, except those that have read its row
  /// already.
  void remove(const CacheFolder& folder, const Hash128& id);

  uint64_t entries() const;
  uint64_t bytes() const;  ///< of all entries
  /// Returns the memory of the index itself. Takes no lock.
  uint64_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Segment {
    FileDescriptor index;
    uint64_t read_to = 0;
  };
  void find_segments(const CacheFolder& folder) FOREBAY_REQUIRES(reading_);
  void read_segment(const CacheFolder& folder, uint32_t number, Segment& segment) FOREBAY_REQUIRES(reading_);
  uint64_t take_rows(uint32_t number, const SegmentRow* rows, uint64_t count, uint64_t at, uint64_t data_bytes,
                     bool at_end);
  void count_memory() FOREBAY_REQUIRES(mutex_);

  Mutex reading_;
  std::map<uint32_t, Segment> segments_ FOREBAY_GUARDED_BY(reading_);
  int64_t listed_at_ns_ FOREBAY_GUARDED_BY(reading_) = -1;

  mutable SharedMutex mutex_;
  std::unordered_map<Hash128, Location, HashOfHash> entries_ FOREBAY_GUARDED_BY(mutex_);
  uint64_t bytes_ FOREBAY_GUARDED_BY(mutex_) = 0;
  std::atomic<uint64_t> memory_bytes_{0};
};

}  // namespace forebay
