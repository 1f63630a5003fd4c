#include "store/read_buffers.h"

#include <bit>

#include <fmt/format.h>

#include "base/blocks.h"
#include "runtime/fork_guard.h"

namespace forebay {

std::shared_ptr<ReadBuffers> ReadBuffers::make(uint64_t idle_capacity_bytes) {
  return std::shared_ptr<ReadBuffers>(new ReadBuffers(idle_capacity_bytes));
}

ReadBuffers::ReadBuffers(uint64_t idle_capacity_bytes)
    : capacity_(idle_capacity_bytes), generation_(process_generation()) {}

ReadBuffers::~ReadBuffers() {
  for (size_t size_class = 0; size_class < kClasses; ++size_class) {
    for (const Idle& block : idle_[size_class]) free_block(block.memory, class_bytes(size_class));
  }
}

// Four classes for each octave, from kMinBlock on: rounding up costs at most a quarter, and few
// sizes share the idle blocks.
size_t ReadBuffers::class_of(size_t size) {
  if (size <= kMinBlock) return 0;
  const auto octave = static_cast<size_t>(std::bit_width((size - 1) / kMinBlock)) - 1;
  const size_t step = (kMinBlock << octave) / kStepsPerOctave;
  return octave * kStepsPerOctave + (size - (kMinBlock << octave) + step - 1) / step;
}

size_t ReadBuffers::class_bytes(size_t size_class) {
  const size_t base = kMinBlock << (size_class / kStepsPerOctave);
  return base + base / kStepsPerOctave * (size_class % kStepsPerOctave);
}

Result<Buffer> ReadBuffers::acquire(size_t size) {
  if (size > kMaxBlock) {
    return out_of_budget(fmt::format("no memory for a read of {} bytes", size), size);
  }
  const size_t size_class = class_of(size);
  void* memory = take(size_class);
  if (memory == nullptr) memory = allocate_block(class_bytes(size_class));
  if (memory == nullptr) return out_of_budget(fmt::format("no memory for a read of {} bytes", size), size);
  std::shared_ptr<void> owner(
      memory, [buffers = shared_from_this(), size_class](void* block) { buffers->release(block, size_class); });
  return Buffer(static_cast<uint8_t*>(memory), size, std::move(owner));
}

void* ReadBuffers::take(size_t size_class) {
  const Lock lock(mutex_);
  auto& blocks = idle_[size_class];
  if (blocks.empty()) return nullptr;
  void* memory = blocks.back().memory;  // the last one used is most likely in the CPU's caches
  blocks.pop_back();
  idle_bytes_ -= class_bytes(size_class);
  return memory;
}

void ReadBuffers::release(void* memory, size_t size_class) {
  const size_t bytes = class_bytes(size_class);
  // In the child of a fork the lock may be held by a thread that does not exist here. A block that
  // cannot be retained is freed at once; otherwise it would evict all idle blocks.
  if (bytes > capacity_ || process_generation() != generation_) return free_block(memory, bytes);
  Lock lock(mutex_);
  idle_[size_class].push_back({memory, releases_++});
  idle_bytes_ += bytes;
  while (idle_bytes_ > capacity_) {
    const auto [oldest, its_class] = take_oldest();
    lock.unlock();  // returning pages to the system can take long
    free_block(oldest, class_bytes(its_class));
    lock.lock();
  }
}

std::pair<void*, size_t> ReadBuffers::take_oldest() {
  // Each class is in order of release, so its first block is its oldest. The oldest of all is found
  // among 112.
  size_t oldest = kClasses;
  for (size_t c = 0; c < kClasses; ++c) {
    if (idle_[c].empty()) continue;
    if (oldest == kClasses || idle_[c].front().released_at < idle_[oldest].front().released_at) oldest = c;
  }
  auto& blocks = idle_[oldest];
  void* memory = blocks.front().memory;
  blocks.erase(blocks.begin());
  idle_bytes_ -= class_bytes(oldest);
  return {memory, oldest};
}

uint64_t ReadBuffers::reclaim(uint64_t bytes) {
  uint64_t given = 0;
  while (given < bytes) {
    Lock lock(mutex_);
    if (idle_bytes_ == 0) break;
    const auto [oldest, its_class] = take_oldest();
    lock.unlock();
    free_block(oldest, class_bytes(its_class));
    given += class_bytes(its_class);
  }
  return given;
}

}  // namespace forebay
