#include "base/work_memory.h"

#include <cstdlib>
#include <new>

#include <fmt/format.h>

namespace forebay {

namespace {
constexpr size_t kWorkAlign = 64;
constexpr size_t kReadPast = 64;
}  // namespace

void WorkMemory::begin_task(uint64_t grant, uint64_t keep) {
  grant_ = grant;
  reserved_ = 0;
  uint64_t held = 0;
  for (Slot& slot : slots_) {
    // Retains lower slots first: operators use slots from 0 on.
    held += slot.size;
    if (held > keep) {
      held -= slot.size;
      slot = Slot();
    }
  }
}

Status WorkMemory::reserve(uint64_t bytes) {
  if (bytes > grant_ - reserved_) {
    // Files may claim sizes whose sum exceeds UINT64_MAX. A sum that wrapped around would be
    // granted again and again.
    const uint64_t needed = bytes > UINT64_MAX - reserved_ ? UINT64_MAX : reserved_ + bytes;
    return out_of_budget(fmt::format("needs {} bytes of working memory", needed), needed);
  }
  reserved_ += bytes;
  return {};
}

std::span<uint8_t> WorkMemory::scratch(int index, size_t size) {
  Slot& slot = slots_[index];
  if (slot.size < size) {
    slot = Slot();
    void* memory = std::aligned_alloc(kWorkAlign, (size + kReadPast + kWorkAlign - 1) / kWorkAlign * kWorkAlign);
    if (memory == nullptr) throw std::bad_alloc();
    slot.memory = {static_cast<uint8_t*>(memory), std::free};
    slot.size = size;
  }
  return {slot.memory.get(), size};
}

}  // namespace forebay
