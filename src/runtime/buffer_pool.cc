#include "runtime/buffer_pool.h"

#include <algorithm>
#include <iterator>

#include "runtime/fork_guard.h"

namespace forebay {

namespace {

bool serves(size_t block, size_t size) { return block >= size && block - size <= block / 8; }

}  // namespace

Status system_lacks_memory() {
  return out_of_budget("the system has no memory left, although the budget allows it; lower memory=", 0);
}

BufferPool::BufferPool(std::shared_ptr<ByteBudget> budget, size_t max_idle, Use use,
                       std::shared_ptr<BlockSource> blocks)
    : budget_(std::move(budget)), max_idle_(max_idle), use_(use), blocks_(std::move(blocks)),
      generation_(process_generation()) {}

BufferPool::~BufferPool() { close(); }

// The smallest block that serves. Among equals the one that was returned last, which is still in
// CPU caches.
BufferPool::Idle::const_iterator BufferPool::find_serving(size_t size) const {
  const auto large_enough = std::ranges::lower_bound(idle_, size, {}, &Block::size);
  if (large_enough == idle_.end() || !serves(large_enough->size, size)) return idle_.end();
  return std::ranges::upper_bound(large_enough, idle_.end(), large_enough->size, {}, &Block::size) - 1;
}

// Lock order: the pool's, then the budget's (give_back() charges with the pool's lock held). Memory
// is freed without any lock, because that may take long.
std::optional<BufferPool::Block> BufferPool::take_idle(size_t size) {
  Lock lock(mutex_);
  const auto best = find_serving(size);
  if (best == idle_.end()) return std::nullopt;
  const Block block = *best;
  idle_.erase(best);
  return block;
}

// Frees a block that is slightly too small: the larger one that replaces it serves the same
// requests.
void BufferPool::free_one_outgrown(size_t size) {
  Block outgrown;
  {
    Lock lock(mutex_);
    const auto larger = std::ranges::upper_bound(idle_, size, {}, &Block::size);
    if (larger == idle_.begin() || !serves(size, std::prev(larger)->size)) return;
    const auto found = std::prev(larger);
    outgrown = *found;
    idle_.erase(found);
  }
  blocks_->free(outgrown.data, outgrown.size);
  budget_->release(Use::kPool, outgrown.size);
}

std::optional<BufferPool::Acquired> BufferPool::acquire(size_t size) {
  if (const std::optional<Block> idle = take_idle(size)) {
    Claim claim = Claim::of_charged(budget_, Use::kPool, idle->size);
    // Moves the charge. If it were released and taken anew, another thread could take the bytes in
    // between.
    claim.move_to(use_);
    return Acquired{wrap(*idle, size), std::move(claim)};
  }
  free_one_outgrown(size);
  std::optional<Claim> claim = Claim::take(budget_, use_, size);
  if (!claim) {
    refused_.store(false, std::memory_order_relaxed);
    return std::nullopt;
  }
  const std::optional<Block> made = make(size);
  if (!made) return std::nullopt;
  return Acquired{wrap(*made, size), std::move(*claim)};
}

std::optional<BufferPool::Acquired> BufferPool::take_reserved(Claim& reserved, size_t size) {
  Claim claim = reserved.split(size);
  if (const std::optional<Block> idle = take_idle(size)) {
    Claim charged = Claim::of_charged(budget_, Use::kPool, idle->size);
    charged.shrink_to(idle->size - size);  // the rest was reserved
    claim.merge(std::move(charged));
    return Acquired{wrap(*idle, size), std::move(claim)};
  }
  free_one_outgrown(size);
  const std::optional<Block> made = make(size);
  if (!made) return std::nullopt;
  return Acquired{wrap(*made, size), std::move(claim)};
}

bool BufferPool::has_idle(size_t size) const {
  Lock lock(mutex_);
  return find_serving(size) != idle_.end();
}

bool BufferPool::trim() {
  std::vector<Block> blocks;
  {
    Lock lock(mutex_);
    blocks.swap(idle_);
  }
  for (const Block& block : blocks) {
    blocks_->free(block.data, block.size);
    budget_->release(Use::kPool, block.size);
  }
  return !blocks.empty();
}

void BufferPool::close() {
  {
    Lock lock(mutex_);
    closed_ = true;
  }
  trim();
}

// Never throws: callers hold the lock of a run in the middle of its bookkeeping.
std::optional<BufferPool::Block> BufferPool::make(size_t size) {
  uint8_t* block = blocks_->allocate(size);
  if (block == nullptr && trim()) block = blocks_->allocate(size);
  refused_.store(block == nullptr, std::memory_order_relaxed);
  if (block == nullptr) return std::nullopt;
  return Block{.data = block, .size = size};
}

Buffer BufferPool::wrap(Block block, size_t size) {
  std::shared_ptr<void> owner(block.data, [pool = shared_from_this(), block](void*) { pool->give_back(block); });
  return Buffer(block.data, size, std::move(owner));
}

void BufferPool::insert_idle(Block block) {
  block.returned_at = returns_++;
  idle_.insert(std::ranges::upper_bound(idle_, block.size, {}, &Block::size), block);
}

BufferPool::Block BufferPool::take_oldest() {
  const auto oldest = std::ranges::min_element(idle_, {}, &Block::returned_at);
  const Block block = *oldest;
  idle_.erase(oldest);
  return block;
}

void BufferPool::give_back(Block block) {
  // In the child of a fork a thread that does not exist there may hold the lock.
  if (process_generation() != generation_) return blocks_->free(block.data, block.size);
  {
    Lock lock(mutex_);
    // Not a Claim, because idle memory must not displace other idle memory.
    if (!closed_ && budget_->try_charge(Use::kPool, block.size)) {
      insert_idle(block);
      if (idle_.size() <= max_idle_) return;
      // The oldest block has a size that is no longer requested.
      block = take_oldest();
      budget_->release(Use::kPool, block.size);
    }
  }
  blocks_->free(block.data, block.size);
}

}  // namespace forebay
