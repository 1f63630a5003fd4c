#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "cache/cache_folder.h"
#include "cache/hash_map.h"
#include "cache/segment_format.h"

namespace forebay {

/// What is kept in one place, by all processes: reads the indices of all segments, and later what was added to them. May be
/// used from any thread; find() never waits for a disk.
class PlaceIndex {
 public:
  struct Location {
    uint32_t segment = 0;
    uint64_t row_at = 0;  ///< in the index file
    uint64_t offset = 0;
    uint64_t bytes = 0;
    double seconds = 0;
  };

  std::optional<Location> find(const Hash128& id) const;
  /// Learns what was added since. `place` must be there.
  void refresh(const CacheFolder& place);
  /// The same, unless another thread is at it.
  void try_refresh(const CacheFolder& place);
  /// No process finds this entry from here on, except those that know it already.
  void remove(const CacheFolder& place, const Hash128& id);

  uint64_t entries() const;
  uint64_t bytes() const;  ///< of entries
  /// Of the index itself; without a lock.
  uint64_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Segment {
    FileDescriptor index;
    uint64_t read_to = 0;
  };
  void find_segments(const CacheFolder& place);
  void read_segment(const CacheFolder& place, uint32_t number, Segment& segment);
  uint64_t take_rows(uint32_t number, const SegmentRow* rows, uint64_t count, uint64_t at, uint64_t data_bytes,
                     bool at_end);

  void count_memory();  // with the lock held

  std::mutex reading_;
  std::map<uint32_t, Segment> segments_;
  int64_t listed_at_ns_ = -1;

  mutable std::shared_mutex mutex_;
  std::unordered_map<Hash128, Location, HashOfHash> entries_;
  uint64_t bytes_ = 0;
  std::atomic<uint64_t> memory_bytes_{0};
};

}  // namespace forebay
