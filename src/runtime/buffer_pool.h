#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "forebay/buffer.h"
#include "forebay/status.h"
#include "runtime/block_source.h"
#include "runtime/claim.h"

namespace forebay {

/// The error for a budget that allows more than the system has (OutOfBudget).
Status system_lacks_memory();

/// Memory of batches. A buffer returns to the pool when its last reader releases it, and is reused
/// instead of fresh pages, which cost more than filling them.
///
/// Sizes differ between batches if rows do. So an idle buffer also serves a request that is up to
/// an eighth smaller, and an idle buffer that is slightly too small is freed when a larger one is
/// made. In this way there are as many buffers as are in use at once, all of about the largest
/// size.
///
/// An acquired buffer comes with a claim on its bytes. The caller destroys the claim when it hands
/// the buffer to the user or destroys it. Idle buffers are charged to Use::kPool, so that the
/// budget counts all memory that exists. All methods may be called from any thread. Always made as
/// a shared_ptr: buffers keep their pool alive.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  /// Acquired bytes are charged to `use`.
  BufferPool(std::shared_ptr<ByteBudget> budget, size_t max_idle, Use use = Use::kBatches,
             std::shared_ptr<BlockSource> blocks = BlockSource::own_memory());
  ~BufferPool();

  struct Acquired {
    Buffer buffer;
    /// At least the buffer's size. Destroyed before the buffer, so that the returned buffer fits
    /// into the budget.
    Claim claim;
  };
  /// Takes a buffer. Empty if the budget does not allow it now or if the system has no memory;
  /// refused() tells which.
  std::optional<Acquired> acquire(size_t size);
  /// Reserves bytes for take_reserved(), which the budget then cannot refuse.
  std::optional<Claim> reserve(uint64_t bytes) { return Claim::take(budget_, use_, bytes); }
  std::optional<Acquired> take_reserved(Claim& reserved, size_t size);
  /// Whether the last request failed because the system had no memory, although the budget allowed
  /// it.
  bool refused() const { return refused_.load(std::memory_order_relaxed); }
  /// Whether acquire() of that size would charge nothing new.
  bool has_idle(size_t size) const;
  /// Returns idle memory to the system. True if there was any.
  bool trim();
  /// Frees idle buffers, and from now on each buffer that is returned.
  void close();

 private:
  struct Block {
    uint8_t* data = nullptr;
    size_t size = 0;
    uint64_t returned_at = 0;  ///< number of blocks that were returned before it
  };
  using Idle = std::vector<Block>;
  Idle::const_iterator find_serving(size_t size) const FOREBAY_REQUIRES(mutex_);
  void insert_idle(Block block) FOREBAY_REQUIRES(mutex_);
  Block take_oldest() FOREBAY_REQUIRES(mutex_);
  std::optional<Block> take_idle(size_t size);
  void free_one_outgrown(size_t size);
  std::optional<Block> make(size_t size);
  Buffer wrap(Block block, size_t size);
  void give_back(Block block);

  const std::shared_ptr<ByteBudget> budget_;
  const size_t max_idle_;
  const Use use_;
  const std::shared_ptr<BlockSource> blocks_;
  const uint64_t generation_;
  mutable Mutex mutex_;
  /// Sorted by size, because there can be hundreds, one for each column of each row group.
  Idle idle_ FOREBAY_GUARDED_BY(mutex_);
  uint64_t returns_ FOREBAY_GUARDED_BY(mutex_) = 0;
  bool closed_ FOREBAY_GUARDED_BY(mutex_) = false;
  std::atomic<bool> refused_ = false;
};

}  // namespace forebay
