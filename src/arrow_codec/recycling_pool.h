#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <vector>

#include <arrow/memory_pool.h>

#include "base/mutex.h"
#include "base/reclaimable_memory.h"
#include "base/work_memory.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// The memory pool of decoded columns. Large freed blocks are retained, up to a limit, for the next
/// request of about their size, because touching fresh pages costs more than decoding into them.
/// Any thread may use it; it never waits.
class RecyclingPool final : public arrow::MemoryPool, public ReclaimableMemory {
 public:
  static RecyclingPool& instance();

  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;
  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override;
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** ptr) override;
  void Free(uint8_t* block, int64_t size, int64_t alignment) override;
  void ReleaseUnused() override;
  int64_t bytes_allocated() const override { return allocated_.load(std::memory_order_relaxed); }
  int64_t total_bytes_allocated() const override { return total_.load(std::memory_order_relaxed); }
  int64_t num_allocations() const override { return count_.load(std::memory_order_relaxed); }
  std::string backend_name() const override { return "forebay"; }

  uint64_t bytes() const override { return idle_bytes(); }
  uint64_t reclaim(uint64_t bytes) override;
  uint64_t idle_bytes() const { return idle_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kMaxIdle = uint64_t{32} << 20;
  struct Block {
    uint8_t* memory;
    size_t size_class;
  };
  RecyclingPool() = default;
  uint8_t* take_idle(size_t size_class);
  bool retain_block(uint8_t* block, size_t size_class);
  void drop_oldest() FOREBAY_REQUIRES(mutex_);

  Mutex mutex_;
  std::list<Block> by_age_ FOREBAY_GUARDED_BY(mutex_);  ///< oldest first
  std::vector<std::deque<std::list<Block>::iterator>> by_class_ FOREBAY_GUARDED_BY(mutex_);
  std::atomic<uint64_t> idle_{0};
  std::atomic<int64_t> allocated_{0}, total_{0}, count_{0};
};

/// Limits what this thread takes from the pool during the object's lifetime: `bytes`, and then what
/// `memory` grants. A thread can have only one at a time.
class Allowance {
 public:
  Allowance(uint64_t bytes, WorkMemory& memory);
  ~Allowance();
  Allowance(const Allowance&) = delete;
  Allowance& operator=(const Allowance&) = delete;

  /// The error of the first refused request, if there was one.
  const Status& refusal() const { return refusal_; }
  Status take(uint64_t bytes);
  void give_back(uint64_t bytes) { used_ -= bytes < used_ ? bytes : used_; }

 private:
  WorkMemory& memory_;
  uint64_t granted_;
  uint64_t used_ = 0;
  Status refusal_;
};

/// Allocates uninitialized memory from the pool, aligned to 64 bytes. OutOfBudget if this thread's
/// Allowance is spent.
Result<Buffer> take_memory(size_t size);
/// Counts memory from elsewhere against this thread's Allowance, if it has one.
Status charge_memory(uint64_t bytes);

}  // namespace forebay
