#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/reclaimable_memory.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// A pool of memory for reads, so that a read does not pay for fresh pages, which cost more than
/// the copy of a 100 KB file. A buffer returns to the pool when its last reader releases it, even
/// after the pool's owner is gone.
///
/// Sizes are rounded up to classes, so a block is at most 25 % larger than requested (and at least
/// kMinBlock). Idle blocks are retained up to `idle_capacity_bytes`; those idle longest are freed
/// first. Methods may be called from any thread.
class ReadBuffers final : public ReclaimableMemory, public std::enable_shared_from_this<ReadBuffers> {
 public:
  static constexpr size_t kMinBlock = 4096;
  /// More than any host has; a sparse file may claim as much.
  static constexpr size_t kMaxBlock = size_t{1} << 39;

  static std::shared_ptr<ReadBuffers> make(uint64_t idle_capacity_bytes);
  ~ReadBuffers() override;
  ReadBuffers(const ReadBuffers&) = delete;
  ReadBuffers& operator=(const ReadBuffers&) = delete;

  /// Returns `size` bytes, aligned to 64 and not initialised. OutOfBudget if the system has no such
  /// memory.
  Result<Buffer> acquire(size_t size);
  uint64_t idle_bytes() const { return idle_bytes_.load(std::memory_order_relaxed); }
  uint64_t bytes() const override { return idle_bytes(); }
  uint64_t reclaim(uint64_t bytes) override;

 private:
  struct Idle {
    void* memory;
    uint64_t released_at;
  };
  static constexpr size_t kStepsPerOctave = 4;
  static constexpr size_t kClasses = 28 * kStepsPerOctave;

  explicit ReadBuffers(uint64_t idle_capacity_bytes);
  static size_t class_of(size_t size);
  static size_t class_bytes(size_t size_class);
  void* take(size_t size_class);
  void release(void* memory, size_t size_class);
  std::pair<void*, size_t> take_oldest() FOREBAY_REQUIRES(mutex_);  ///< memory and class

  const uint64_t capacity_, generation_;
  mutable Mutex mutex_;
  std::array<std::vector<Idle>, kClasses> idle_ FOREBAY_GUARDED_BY(mutex_);
  std::atomic<uint64_t> idle_bytes_{0};  ///< written under the lock
  uint64_t releases_ FOREBAY_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay
