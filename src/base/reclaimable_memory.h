#pragma once

#include <cstdint>

namespace forebay {

/// Reclaimable memory of the process: idle blocks of a pool, entries of a cache, an index. It
/// belongs to no loader. Loaders add it to their own memory, and reclaim it when they lack memory.
class ReclaimableMemory {
 public:
  virtual ~ReclaimableMemory() = default;
  /// Bytes held now. May be called from any thread, as often as memory is allocated: takes no lock.
  virtual uint64_t bytes() const = 0;
  /// Frees at least `bytes`, or as much as possible, and returns the number of bytes freed. Memory
  /// that is in use is freed later, by its last user. May be called from any thread. It may return
  /// pages to the system, but waits for no other thread.
  virtual uint64_t reclaim(uint64_t bytes) = 0;
};

}  // namespace forebay
