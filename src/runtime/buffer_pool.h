#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "forebay/buffer.h"
#include "forebay/status.h"
#include "runtime/block_source.h"
#include "runtime/claim.h"

namespace forebay {

/// OutOfBudget: the budget allows what the system does not have.
Status system_lacks_memory();

/// Memory of batches. A buffer comes back when its last reader lets go, and is used again instead of fresh pages (which cost
/// more than filling them).
///
/// Sizes differ from batch to batch where rows do, so an idle buffer also serves a request that is up to an eighth smaller, and one that
/// is that little too small is given up for the larger one: there are as many as are in use at once, of about the largest size.
///
/// A buffer comes with a claim of the bytes that it takes, which its owner gives up when it hands the buffer to the user or drops it. Idle
/// buffers are charged to Use::kPool, so the sum in the budget is what is really held. Always made as a shared_ptr: buffers
/// keep their pool alive.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  /// `use`: what acquired bytes are charged to.
  BufferPool(std::shared_ptr<ByteBudget> budget, size_t max_idle, Use use = Use::kBatches,
             std::shared_ptr<BlockSource> blocks = BlockSource::own_memory());
  ~BufferPool();

  struct Lent {
    Buffer buffer;
    Claim
        claim;  ///< of at least the buffer's size; goes first, so that there is room for the buffer when it comes back
  };
  /// Nothing where the budget does not allow it now, or the system has none: refused() says which.
  std::optional<Lent> acquire(size_t size);
  /// Bytes that the budget will then not keep take_reserved() from giving.
  std::optional<Claim> reserve(uint64_t bytes) { return Claim::take(budget_, use_, bytes); }
  std::optional<Lent> take_reserved(Claim& reserved, size_t size);
  /// The latest that was wanted the budget allowed, and the system did not have.
  bool refused() const { return refused_.load(std::memory_order_relaxed); }
  /// acquire() of that size would charge nothing new.
  bool has_idle(size_t size) const;
  /// Gives idle memory back to the system. True if there was any.
  bool trim();
  /// From now on buffers that come back are freed.
  void close();

 private:
  struct Block {
    uint8_t* data = nullptr;
    size_t size = 0;
    uint64_t since = 0;  ///< when it came back, in blocks
  };
  using Idle = std::vector<Block>;
  Idle::const_iterator find_serving(size_t size) const;
  void keep(Block block);
  Block take_oldest();
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
  mutable std::mutex mutex_;
  Idle idle_;  ///< by size, so that hundreds (one for each column of each row group) are not looked through for each
  uint64_t came_back_ = 0;
  bool closed_ = false;
  std::atomic<bool> refused_ = false;
};

}  // namespace forebay
