#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "runtime/block_source.h"

namespace forebay {

/// Batch memory that the user's framework owns, such as pinned memory of PyTorch. Only the framework
/// knows when its copies to a device have ended, so the engine never fills a block again once the
/// user has had it: the block goes back to its owner, and the owner lends another one.
///
/// The framework cannot be called by engine threads, so allocate() takes a block that was lent
/// before, or else memory of this process. exchange() tells what to lend next. After a few batches
/// all memory is lent. Sizes are rounded up to powers of two, as PyTorch's allocator does.
///
/// Any thread may call any function. Owners are destroyed only by exchange()'s caller, by that of
/// lend(), and with the object.
class LentBlocks final : public BlockSource {
 public:
  /// Keeps the memory of a lent block alive.
  using Owner = std::shared_ptr<void>;

  LentBlocks();

  uint8_t* allocate(size_t bytes) override;
  void free(uint8_t* block, size_t bytes) override;
  bool keeps_freed() const override { return true; }

  /// Lends a block until exchange() returns its owner. Returns false, and does not take the block,
  /// if its address is not aligned to 64 bytes.
  bool lend(uint8_t* block, size_t bytes, const Owner& owner);
  /// The user gets a tensor over the block at this address, which must be in use. Returns the
  /// block's owner, or null if the address does not begin a lent block.
  Owner hand_over(const uint8_t* block);

  struct Exchange {
    std::vector<size_t> wanted;   ///< sizes of blocks to lend
    std::vector<Owner> returned;  ///< owners of blocks that the user has had; to be destroyed
  };
  /// Returns what has happened since the last call.
  Exchange exchange();

 private:
  struct Block {
    size_t bytes = 0;
    Owner owner;
    bool handed_over = false;
  };

  const std::shared_ptr<BlockSource> own_ = BlockSource::own_memory();
  const uint64_t generation_;
  Mutex mutex_;
  std::unordered_map<const uint8_t*, Block> blocks_ FOREBAY_GUARDED_BY(mutex_);
  std::map<size_t, std::vector<uint8_t*>> idle_ FOREBAY_GUARDED_BY(mutex_);  ///< by size
  Exchange next_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
