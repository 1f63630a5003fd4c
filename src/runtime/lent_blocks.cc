#include "runtime/lent_blocks.h"

#include <bit>
#include <utility>

#include "runtime/fork_guard.h"

namespace forebay {

namespace {
constexpr uintptr_t kAlignment = 64;
}

LentBlocks::LentBlocks() : generation_(process_generation()) {}

uint8_t* LentBlocks::allocate(size_t bytes) {
  if (bytes > 0) {
    const size_t size = std::bit_ceil(bytes);
    const Lock lock(mutex_);
    if (std::vector<uint8_t*>& idle = idle_[size]; !idle.empty()) {
      uint8_t* const block = idle.back();
      idle.pop_back();
      return block;
    }
    next_.wanted.push_back(size);
  }
  return own_->allocate(bytes);
}

void LentBlocks::free(uint8_t* block, size_t bytes) {
  // In the child of a fork another thread of the parent may hold the lock. The few blocks of the
  // parent's last batches are not worth an answer.
  if (process_generation() != generation_) return;
  {
    const Lock lock(mutex_);
    if (const auto found = blocks_.find(block); found != blocks_.end()) {
      if (!found->second.handed_over) return idle_[found->second.bytes].push_back(block);
      next_.returned.push_back(std::move(found->second.owner));
      blocks_.erase(found);
      return;
    }
  }
  own_->free(block, bytes);
}

bool LentBlocks::lend(uint8_t* block, size_t bytes, const Owner& owner) {
  if (reinterpret_cast<uintptr_t>(block) % kAlignment != 0) return false;
  const Lock lock(mutex_);
  blocks_.insert_or_assign(block, Block{.bytes = bytes, .owner = owner});
  idle_[bytes].push_back(block);
  return true;
}

LentBlocks::Owner LentBlocks::hand_over(const uint8_t* block) {
  const Lock lock(mutex_);
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) return nullptr;
  if (!std::exchange(found->second.handed_over, true)) next_.wanted.push_back(found->second.bytes);
  return found->second.owner;
}

LentBlocks::Exchange LentBlocks::exchange() {
  const Lock lock(mutex_);
  return std::exchange(next_, {});
}

}  // namespace forebay
