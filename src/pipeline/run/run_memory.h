#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "pipeline/run/memory_plan.h"
#include "runtime/buffer_pool.h"
#include "runtime/claim.h"
#include "runtime/memory.h"

namespace forebay {

/// Reclaims memory for an element that lacks it, from younger elements.
class MemoryReclaimer {
 public:
  /// Reclaims memory for `bytes` that were not available. Returns true if the caller should try
  /// again now. Otherwise a running task has to end first.
  virtual bool reclaim(uint64_t bytes) = 0;

 protected:
  ~MemoryReclaimer() = default;
};

/// A run's share of the memory of the process: its budget in bytes, and the pools for the buffers
/// of its batches and chunks. May be used from any thread. The run's lock guards raise(),
/// set_aside_for_threads(), release_account(), record_assembly_bytes() and leaves_assembly_room().
class RunMemory {
 public:
  /// `threads`: compute threads at the beginning. `idle_buffers`: number of batch buffers that may
  /// wait for reuse. `blocks` gives their memory.
  RunMemory(Memory& memory, const MemoryPlan& plan, int threads, size_t idle_buffers,
            const std::shared_ptr<BlockSource>& blocks);
  ~RunMemory() { budget_->close_accounts(); }  // batches that the user holds keep the budget alive

  /// Claims bytes of the budget. Nothing if it does not have so many now.
  std::optional<Claim> take(Use use, uint64_t bytes) const { return Claim::take(budget_, use, bytes); }
  /// The same, after reclaiming memory with `others` as long as that makes sense. `others` is null
  /// if nothing may be reclaimed.
  std::optional<Claim> take(Use use, uint64_t bytes, MemoryReclaimer* others) const;
  /// Claims bytes that are allocated already. They may exceed the budget.
  Claim existing(Use use, uint64_t bytes) const { return Claim::of_existing(budget_, use, bytes); }
  BufferPool& batches() const { return *batch_pool_; }
  BufferPool& chunks() const { return *chunk_pool_; }
  /// Frees idle memory: that of batches, or else of chunks, or else reclaimable memory outside the
  /// run until `bytes` more fit. Returns whether there was any.
  bool trim(uint64_t bytes = 0) const;
  /// Drops cache entries until `bytes` more fit. Returns whether any memory was freed or lent.
  bool drop_cached(uint64_t bytes) const { return budget_->reclaim(ByteBudget::Kind::kEntries, bytes); }

  /// Whether the system refused the last allocation although the budget allowed it.
  bool system_refuses() const { return batch_pool_->refused() || chunk_pool_->refused(); }

  uint64_t capacity() const { return budget_->capacity(); }
  uint64_t used() const { return budget_->snapshot().used; }
  bool full() const;
  ByteBudget::Snapshot snapshot() const { return budget_->snapshot(); }

  /// Whether the batches of the window still get all memory that they need after `bytes` are
  /// claimed for later batches or chunks.
  bool leaves_room(uint64_t bytes) const;
  /// Records the bytes that the assembly of a batch needs in addition to its rows.
  void record_assembly_bytes(uint64_t bytes) { max_assembly_bytes_ = std::max(max_assembly_bytes_, bytes); }
  /// Whether a younger batch may fetch `bytes`. It may not if cache entries had to be dropped for
  /// the assembly of the oldest batch, again in each step.
  bool leaves_assembly_room(uint64_t bytes) const;
  /// Whether `bytes` more may be fetched ahead of the window.
  bool may_fetch_ahead(uint64_t bytes) const;
  /// Whether any fetched bytes are held.
  bool has_fetched() const;

  /// Raises the budget to `least` bytes, which the oldest task needs. Returns false if that is not
  /// possible.
  bool raise(uint64_t least) { return account_->raise(least); }
  /// Claims the working memory of `threads` compute threads. Returns false, and changes nothing, if
  /// the budget does not have it now.
  bool set_aside_for_threads(int threads);
  uint64_t thread_bytes() const { return thread_memory_.bytes(); }
  /// Releases the run's share of the memory to other runs, except for bytes still held. The caller
  /// destroys the returned account without holding a lock.
  std::unique_ptr<Memory::Account> release_account() { return std::move(account_); }
  /// Frees all idle memory, now and when buffers return. Reclaimable memory outside the run is not
  /// counted any more.
  void close_pools() const;

 private:
  const uint64_t window_bytes_, ahead_bytes_, bytes_per_thread_;
  const bool has_entries_;
  uint64_t max_assembly_bytes_ = 0;  ///< the largest value so far
  std::unique_ptr<Memory::Account> account_;
  const std::shared_ptr<ByteBudget> budget_;
  const std::shared_ptr<BufferPool> batch_pool_, chunk_pool_;
  Claim thread_memory_;  // working memory of the compute threads
  const Claim index_memory_;
};

}  // namespace forebay
