#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "pipeline/run/runner_options.h"
#include "runtime/buffer_pool.h"
#include "runtime/claim.h"
#include "runtime/memory.h"

namespace forebay {

/// A run's part of the memory of the process, in bytes, and the pools that its batches and chunks are lent from. From any thread, but
/// for raise(), set_aside_for_threads(), leave() and what is said of last steps, which the run's lock guards.
class RunMemory {
 public:
  /// `idle_buffers`: of batches, that may wait to be used again; these lie in `blocks`.
  RunMemory(Memory& memory, const RunnerOptions& options, size_t idle_buffers, std::shared_ptr<BlockSource> blocks);
  ~RunMemory() { budget_->forget_beside(); }  // claims of batches that the user holds keep the budget

  /// Nothing where the part does not have so many now.
  std::optional<Claim> take(Use use, uint64_t bytes) const { return Claim::take(budget_, use, bytes); }
  /// Of bytes that exist already; may go beyond the part.
  Claim existing(Use use, uint64_t bytes) const { return Claim::of_existing(budget_, use, bytes); }
  BufferPool& batches() const { return *batch_pool_; }
  BufferPool& chunks() const { return *chunk_pool_; }
  /// Idle memory goes back to the system: of batches, or else of chunks, or else of what is kept beside, until `bytes` more fit. True where
  /// there was any.
  bool trim(uint64_t bytes = 0) const;
  /// Entries of caches go until `bytes` more fit. True where there was any.
  bool drop_cached(uint64_t bytes) const { return budget_->make_room(ByteBudget::Beside::kEntries, bytes); }

  /// What was wanted last the budget allowed, and the system did not have.
  bool system_refuses() const { return batch_pool_->refused() || chunk_pool_->refused(); }

  uint64_t capacity() const { return budget_->capacity(); }
  uint64_t used() const { return budget_->snapshot().used; }
  bool full() const;
  ByteBudget::Snapshot snapshot() const { return budget_->snapshot(); }

  /// For what the batches of the window do not need yet: whether these get all the same what they need.
  bool leaves_room(uint64_t bytes) const;
  /// A batch needed so much beside its rows, once these were there, to be put together.
  void note_last_step(uint64_t bytes) { last_step_ = std::max(last_step_, bytes); }
  /// Whether a younger batch may fetch so much. Not where entries of a cache would have to go, in each step anew, for the front one to be put
  /// together.
  bool leaves_last_step(uint64_t bytes) const;
  /// Whether so much more may be fetched ahead of the window.
  bool may_fetch_ahead(uint64_t bytes) const;
  /// Whether anything fetched is held.
  bool has_fetched() const;

  /// The oldest element needs so many. False where that cannot be.
  bool raise(uint64_t least) { return account_->raise(least); }
  /// What so many compute threads work in is set aside. False, and nothing changed, where the part does not have it now.
  bool set_aside_for_threads(int threads);
  uint64_t thread_bytes() const { return thread_memory_.bytes(); }
  /// Others may have this part; what is held still counts. To be destroyed without a lock.
  std::unique_ptr<Memory::Account> leave() { return std::move(account_); }
  /// Nothing idles any more, and nothing comes back to idle; what is kept beside counts no more.
  void close_pools() const;

 private:
  const uint64_t window_bytes_, ahead_bytes_, bytes_per_thread_;
  const bool has_entries_;
  uint64_t last_step_ = 0;  ///< the most so far
  std::unique_ptr<Memory::Account> account_;
  const std::shared_ptr<ByteBudget> budget_;
  const std::shared_ptr<BufferPool> batch_pool_, chunk_pool_;
  Claim thread_memory_;  // what compute threads work in
  const Claim index_memory_;
};

}  // namespace forebay
