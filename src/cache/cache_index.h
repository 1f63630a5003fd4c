#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "base/shared_mutex.h"
#include "cache/cache_folder.h"
#include "cache/hash_map.h"
#include "cache/segment_format.h"

namespace forebay {

/// The entries of one cache on disk. Reads the index files of the segments of all processes, and
/// later the rows that were appended to them. Every method takes the folder of that cache. Methods
/// may be called from any thread; find() never waits for a disk.
///
/// Invariant: an entry in the index has all of its data on disk, unless another process has removed
/// the cache or marked the entry as damaged since.
class CacheIndex {
 public:
  /// Place of an entry in the files, and the cost of computing it.
  struct Location {
    uint32_t segment = 0;
    uint64_t row_offset = 0;     ///< of its row in the index file
    uint64_t data_offset = 0;    ///< of its bytes in the data file
    uint64_t data_bytes = 0;     ///< bytes of the entry
    double compute_seconds = 0;  ///< cost of computing the entry
  };

  std::optional<Location> find(const Hash128& id) const;
  /// Reads the rows that were appended since the last call.
  void refresh(const CacheFolder& folder);
  /// Does the same, or nothing if another thread is doing it.
  void try_refresh(const CacheFolder& folder);
  /// Removes an entry, here and in its index file. Processes that have read its row before still
  /// find it.
  void remove(const CacheFolder& folder, const Hash128& id);

  uint64_t entries() const;
  uint64_t bytes() const;  ///< of all entries
  /// Returns the memory of the index itself. Takes no lock.
  uint64_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Segment {
    FileDescriptor index;
    uint64_t read_bytes = 0;  ///< bytes of the file that are in entries_; 0: not even its header
  };
  /// Rows that were read from an index file.
  struct IndexPart {
    uint32_t segment = 0;
    uint64_t offset = 0;      ///< of the first row in the index file
    uint64_t data_bytes = 0;  ///< size of the data file
    bool is_last = false;     ///< the index file ends with these rows
  };
  void read_new_rows(const CacheFolder& folder) FOREBAY_REQUIRES(reading_);
  void find_segments(const CacheFolder& folder) FOREBAY_REQUIRES(reading_);
  void read_segment(const CacheFolder& folder, uint32_t number, Segment& segment) FOREBAY_REQUIRES(reading_);
  /// Adds the entries of `rows`, and returns the number of rows that need not be read again. An
  /// invalid last row of the file may be one that is being written: it is read again later.
  uint64_t take_rows(std::span<const SegmentRow> rows, const IndexPart& part);
  void count_memory() FOREBAY_REQUIRES(mutex_);

  Mutex reading_;  ///< held while files are read; locked before mutex_
  std::map<uint32_t, Segment> segments_ FOREBAY_GUARDED_BY(reading_);
  /// Modification time of the folder when it was last listed; -1: never.
  int64_t listed_mtime_ns_ FOREBAY_GUARDED_BY(reading_) = -1;

  mutable SharedMutex mutex_;  ///< never held while files are read
  std::unordered_map<Hash128, Location, HashOfHash> entries_ FOREBAY_GUARDED_BY(mutex_);
  uint64_t bytes_ FOREBAY_GUARDED_BY(mutex_) = 0;
  std::atomic<uint64_t> memory_bytes_{0};
};

}  // namespace forebay
