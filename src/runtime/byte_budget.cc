#include "runtime/byte_budget.h"

#include <algorithm>
#include <cassert>

namespace forebay {

uint64_t ByteBudget::capacity() const {
  std::lock_guard lock(mutex_);
  return capacity_;
}

void ByteBudget::set_capacity(uint64_t capacity) {
  std::lock_guard lock(mutex_);
  capacity_ = capacity;
}

bool ByteBudget::try_charge(Use use, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (used_ > capacity_ || bytes > capacity_ - used_) return false;
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  by_use_[static_cast<size_t>(use)] += bytes;
  return true;
}

void ByteBudget::charge_existing(Use use, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  by_use_[static_cast<size_t>(use)] += bytes;
}

void ByteBudget::release(Use use, uint64_t bytes) {
  // In the child of a fork the lock may be held by a thread that does not exist here.
  if (process_generation() != generation_) return;
  std::lock_guard lock(mutex_);
  assert(by_use_[static_cast<size_t>(use)] >= bytes);
  used_ -= bytes;
  by_use_[static_cast<size_t>(use)] -= bytes;
}

void ByteBudget::move(Use from, Use to, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  assert(by_use_[static_cast<size_t>(from)] >= bytes);
  by_use_[static_cast<size_t>(from)] -= bytes;
  by_use_[static_cast<size_t>(to)] += bytes;
}

ByteBudget::Snapshot ByteBudget::snapshot() const {
  std::lock_guard lock(mutex_);
  return {capacity_, used_, peak_, by_use_};
}

}  // namespace forebay
