#include "runtime/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "runtime/fork_guard.h"

namespace forebay {

namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kAlign = 64;

uint8_t* map_block(size_t size) {
  if (size < kHugePage) {
    void* memory = std::aligned_alloc(kAlign, (size + kAlign) / kAlign * kAlign);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<uint8_t*>(memory);
  }
  // Over-map and trim so that the block starts on a huge page: one fault then fills 2 MiB.
  const size_t mapped = size + kHugePage;
  void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) throw std::bad_alloc();
  auto* begin = static_cast<uint8_t*>(raw);
  auto* aligned =
      reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(begin) + kHugePage - 1) / kHugePage * kHugePage);
  if (aligned > begin) munmap(begin, static_cast<size_t>(aligned - begin));
  uint8_t* end = aligned + (size + 4095) / 4096 * 4096;
  if (end < begin + mapped) munmap(end, static_cast<size_t>(begin + mapped - end));
  madvise(aligned, size, MADV_HUGEPAGE);
  return aligned;
}

void unmap_block(uint8_t* data, size_t size) {
  if (size < kHugePage) {
    std::free(data);
  } else {
    munmap(data, size);
  }
}

}  // namespace

BufferPool::BufferPool(std::shared_ptr<ByteBudget> budget, size_t max_idle, Use use)
    : budget_(std::move(budget)), max_idle_(max_idle), use_(use), generation_(process_generation()) {}

BufferPool::~BufferPool() { close(); }

std::optional<BufferPool::Block> BufferPool::take_idle(size_t size) {
  std::lock_guard lock(mutex_);
  auto fits = std::find_if(idle_.begin(), idle_.end(), [&](const Block& block) { return block.size == size; });
  if (fits == idle_.end()) return std::nullopt;
  const Block block = *fits;
  idle_.erase(fits);
  return block;
}

std::optional<Buffer> BufferPool::acquire(size_t size) {
  if (const std::optional<Block> idle = take_idle(size)) {
    budget_->move(Use::kPool, use_, size);
    return wrap(*idle);
  }
  if (!budget_->try_charge(use_, size)) return std::nullopt;
  return wrap({map_block(size), size});
}

Buffer BufferPool::take_reserved(size_t size) {
  if (const std::optional<Block> idle = take_idle(size)) {
    budget_->release(Use::kPool, size);
    return wrap(*idle);
  }
  return wrap({map_block(size), size});
}

bool BufferPool::has_idle(size_t size) const {
  std::lock_guard lock(mutex_);
  return std::any_of(idle_.begin(), idle_.end(), [&](const Block& block) { return block.size == size; });
}

bool BufferPool::trim() {
  std::vector<Block> blocks;
  {
    std::lock_guard lock(mutex_);
    blocks.swap(idle_);
  }
  for (const Block& block : blocks) {
    unmap_block(block.data, block.size);
    budget_->release(Use::kPool, block.size);
  }
  return !blocks.empty();
}

void BufferPool::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  trim();
}

Buffer BufferPool::wrap(Block block) {
  std::shared_ptr<void> owner(block.data, [pool = shared_from_this(), block](void*) { pool->give_back(block); });
  return Buffer(block.data, block.size, std::move(owner));
}

void BufferPool::give_back(Block block) {
  // In the child of a fork the lock may be held by a thread that does not exist here.
  if (process_generation() != generation_) return unmap_block(block.data, block.size);
  {
    std::lock_guard lock(mutex_);
    if (!closed_ && budget_->try_charge(Use::kPool, block.size)) {
      idle_.push_back(block);
      if (idle_.size() <= max_idle_) return;
      block = idle_.front();  // the one that has waited longest is of a size that nobody asks for
      idle_.erase(idle_.begin());
      budget_->release(Use::kPool, block.size);
    }
  }
  unmap_block(block.data, block.size);
}

}  // namespace forebay
