#include "arrow_codec/recycling_pool.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include <arrow/status.h>
#include <fmt/format.h>

#include "base/blocks.h"

namespace forebay {

namespace {

constexpr size_t kAlign = 64;
constexpr int kStepsLog = 4;  // sizes per doubling: at most 1/16 is wasted
constexpr int kSmallestLog = 16;
constexpr size_t kSmallest = size_t{1} << kSmallestLog;  // malloc is fast for smaller ones
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kRecycles = false;  // so that use after free is detected
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kRecycles = false;
#else
constexpr bool kRecycles = true;
#endif
#else
constexpr bool kRecycles = true;
#endif

thread_local Allowance* current = nullptr;

bool recycled(size_t size) { return kRecycles && size >= kSmallest; }

/// The smallest class whose blocks hold `size` bytes: class c of doubling d has (16 + c) / 16 times
/// 2^d bytes.
size_t class_of(size_t size) {
  const int log = std::bit_width(size - 1) - 1;
  const size_t step = size_t{1} << (log - kStepsLog);
  const size_t steps = (size + step - 1) / step;  // 16 to 32
  return static_cast<size_t>(log - kSmallestLog + 1) * 16 + (steps - 16);
}
size_t class_bytes(size_t size_class) {
  // class_of() counts a full doubling as the first step of the next one.
  return (16 + size_class % 16) << (size_class / 16 + kSmallestLog - 1 - kStepsLog);
}

uint8_t* from_heap(size_t size) {
  const size_t rounded = std::max((size + kAlign - 1) / kAlign * kAlign, kAlign);
  return rounded < size ? nullptr : static_cast<uint8_t*>(std::aligned_alloc(kAlign, rounded));
}

}  // namespace

RecyclingPool& RecyclingPool::instance() {
  static auto* pool = new RecyclingPool;  // never destroyed: columns may outlive static objects
  return *pool;
}

arrow::Status RecyclingPool::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  if (size < 0 || alignment > static_cast<int64_t>(kAlign)) return arrow::Status::Invalid("impossible allocation");
  const auto bytes = static_cast<size_t>(size);
  if (current != nullptr && !current->take(bytes).ok()) return arrow::Status::OutOfMemory(current->refusal().message());
  *out = recycled(bytes) ? take_idle(class_of(bytes)) : from_heap(bytes);
  if (*out == nullptr) {
    if (current != nullptr) current->give_back(bytes);
    return arrow::Status::OutOfMemory(fmt::format("no memory for {} bytes", bytes));
  }
  allocated_.fetch_add(size, std::memory_order_relaxed);
  total_.fetch_add(size, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  return arrow::Status::OK();
}

arrow::Status RecyclingPool::Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** ptr) {
  const auto before = static_cast<size_t>(old_size), after = static_cast<size_t>(new_size);
  if (new_size >= 0 && recycled(before) && recycled(after) && class_of(before) == class_of(after)) {
    if (after > before && current != nullptr && !current->take(after - before).ok())
      return arrow::Status::OutOfMemory(current->refusal().message());
    if (after < before && current != nullptr) current->give_back(before - after);
    allocated_.fetch_add(new_size - old_size, std::memory_order_relaxed);
    return arrow::Status::OK();
  }
  uint8_t* moved = nullptr;
  ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
  std::memcpy(moved, *ptr, std::min(before, after));
  Free(*ptr, old_size, alignment);
  *ptr = moved;
  return arrow::Status::OK();
}

void RecyclingPool::Free(uint8_t* block, int64_t size, int64_t /*alignment*/) {
  // Also for blocks that another thread allocated. The Allowance bounds what this thread adds, and
  // never falls below 0.
  if (current != nullptr) current->give_back(static_cast<uint64_t>(size));
  allocated_.fetch_sub(size, std::memory_order_relaxed);
  const auto bytes = static_cast<size_t>(size);
  if (!recycled(bytes)) return std::free(block);
  if (!retain_block(block, class_of(bytes))) free_block(block, class_bytes(class_of(bytes)));
}

// The lock is only tried; on failure the caller asks the system. So no thread waits, and a process
// that was forked while another thread held the lock can continue.
uint8_t* RecyclingPool::take_idle(size_t size_class) {
  if (mutex_.try_lock()) {
    const Lock lock(mutex_, std::adopt_lock);
    if (size_class < by_class_.size() && !by_class_[size_class].empty()) {
      // The most recently used, whose pages are most likely in a CPU cache.
      const auto newest = by_class_[size_class].back();
      by_class_[size_class].pop_back();
      uint8_t* block = newest->memory;
      by_age_.erase(newest);
      idle_.fetch_sub(class_bytes(size_class), std::memory_order_relaxed);
      return block;
    }
  }
  return allocate_block(class_bytes(size_class));
}

bool RecyclingPool::retain_block(uint8_t* block, size_t size_class) {
  const size_t bytes = class_bytes(size_class);
  if (bytes > kMaxIdle || !mutex_.try_lock()) return false;
  const Lock lock(mutex_, std::adopt_lock);
  while (idle_bytes() + bytes > kMaxIdle) drop_oldest();
  if (size_class >= by_class_.size()) by_class_.resize(size_class + 1);
  by_class_[size_class].push_back(by_age_.insert(by_age_.end(), {block, size_class}));
  idle_.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

void RecyclingPool::drop_oldest() {
  const Block oldest = by_age_.front();
  by_age_.pop_front();
  // It is also the oldest of its class, because blocks are added and taken at the back.
  by_class_[oldest.size_class].pop_front();
  idle_.fetch_sub(class_bytes(oldest.size_class), std::memory_order_relaxed);
  free_block(oldest.memory, class_bytes(oldest.size_class));
}

void RecyclingPool::ReleaseUnused() {
  const Lock lock(mutex_);
  while (idle_bytes() > 0) drop_oldest();
}

uint64_t RecyclingPool::reclaim(uint64_t bytes) {
  if (!mutex_.try_lock()) return 0;
  const Lock lock(mutex_, std::adopt_lock);
  const uint64_t before = idle_bytes();
  while (idle_bytes() > 0 && before - idle_bytes() < bytes) drop_oldest();
  return before - idle_bytes();
}

Allowance::Allowance(uint64_t bytes, WorkMemory& memory) : memory_(memory), granted_(bytes) { current = this; }
Allowance::~Allowance() { current = nullptr; }

Status Allowance::take(uint64_t bytes) {
  if (bytes > granted_ - std::min(granted_, used_)) {
    const uint64_t lacking = bytes - (granted_ - std::min(granted_, used_));
    if (refusal_ = memory_.reserve(lacking); !refusal_.ok()) return refusal_;
    granted_ += lacking;
  }
  used_ += bytes;
  return {};
}

Status charge_memory(uint64_t bytes) { return current != nullptr ? current->take(bytes) : Status(); }

Result<Buffer> take_memory(size_t size) {
  RecyclingPool& pool = RecyclingPool::instance();
  uint8_t* memory = nullptr;
  if (!pool.Allocate(static_cast<int64_t>(size), &memory).ok()) {
    if (current != nullptr && !current->refusal().ok()) return current->refusal();
    return out_of_budget(fmt::format("no memory for {} bytes", size), size);
  }
  auto free = [size](void* block) {
    RecyclingPool::instance().Free(static_cast<uint8_t*>(block), static_cast<int64_t>(size));
  };
  return Buffer(memory, size, std::shared_ptr<void>(memory, free));
}

}  // namespace forebay
