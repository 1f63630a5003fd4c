#include "runtime/byte_budget.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace forebay {

uint64_t ByteBudget::capacity() const {
  Lock lock(mutex_);
  return capacity_;
}

void ByteBudget::set_capacity(uint64_t capacity) {
  Lock lock(mutex_);
  capacity_ = capacity;
}

uint64_t ByteBudget::reclaimable() const {
  uint64_t bytes = 0;
  for (const Account& each : accounts_) bytes += each.bytes();
  return bytes;
}

uint64_t ByteBudget::unfilled_reservations() const {
  uint64_t bytes = 0;
  for (const Account& each : accounts_) {
    if (each.reserved > 0) bytes += each.reserved - std::min(each.reserved, each.memory->bytes());
  }
  return bytes;
}

uint64_t ByteBudget::reserved() const {
  const uint64_t bytes = unfilled_reservations();
  return bytes - std::min(bytes, suspended_);
}

bool ByteBudget::try_charge(Use use, uint64_t bytes) {
  Lock lock(mutex_);
  // Reclaimable memory grows by itself, so the sum may exceed the capacity. Then nothing new fits.
  const uint64_t used = used_ + reclaimable();
  const uint64_t taken = used + reserved();
  if (taken > capacity_ || bytes > capacity_ - taken) return false;
  used_ += bytes;
  peak_ = std::max(peak_, used + bytes);
  by_use_[static_cast<size_t>(use)] += bytes;
  return true;
}

void ByteBudget::charge_existing(Use use, uint64_t bytes) {
  Lock lock(mutex_);
  used_ += bytes;
  peak_ = std::max(peak_, used_ + reclaimable());
  by_use_[static_cast<size_t>(use)] += bytes;
}

void ByteBudget::release(Use use, uint64_t bytes) {
  // In the child of a fork a thread that does not exist there may hold the lock.
  if (process_generation() != generation_) return;
  Lock lock(mutex_);
  assert(by_use_[static_cast<size_t>(use)] >= bytes);
  used_ -= bytes;
  by_use_[static_cast<size_t>(use)] -= bytes;
  if (suspended_ == 0) return;
  const uint64_t wanted = used_ + reclaimable() + unfilled_reservations();
  suspended_ = std::min(suspended_, wanted - std::min(wanted, capacity_));
}

void ByteBudget::move(Use from, Use to, uint64_t bytes) {
  Lock lock(mutex_);
  assert(by_use_[static_cast<size_t>(from)] >= bytes);
  by_use_[static_cast<size_t>(from)] -= bytes;
  by_use_[static_cast<size_t>(to)] += bytes;
}

ByteBudget::Snapshot ByteBudget::snapshot() const {
  Lock lock(mutex_);
  Snapshot now{.capacity = capacity_, .used = used_, .peak = peak_, .by_use = by_use_};
  for (const Account& each : accounts_) {
    const uint64_t bytes = each.bytes();
    now.used += bytes;
    now.idle += each.kind == Kind::kIdle ? bytes : 0;
    now.by_use[static_cast<size_t>(each.use)] += bytes;
  }
  now.reserved = reserved();
  return now;
}

void ByteBudget::open(Account account) {
  Lock lock(mutex_);
  accounts_.push_back(std::move(account));
}

bool ByteBudget::reclaim(Kind kind, uint64_t bytes) {
  std::vector<Account> accounts;
  uint64_t lacking = 0, lacking_before = 0;
  {
    Lock lock(mutex_);
    // Wraps around for impossible sizes. Then nothing is reclaimed, and try_charge() fails.
    const uint64_t suspendable = reserved(), needed = used_ + reclaimable() + suspendable + bytes;
    if (needed <= capacity_) return false;
    lacking_before = lacking = needed - capacity_;
    if (kind == Kind::kEntries) {
      suspended_ += std::min(lacking, suspendable);
      lacking -= std::min(lacking, suspendable);
    }
    accounts = accounts_;
  }
  // Without the lock: reclaim() locks pools and caches, and may return pages to the system, which
  // takes long.
  for (const Account& each : accounts) {
    const uint64_t held = each.kind == kind ? each.memory->bytes() : 0;
    if (held == 0 || lacking == 0) continue;
    // Bytes beyond `most` are counted by other loaders alone. They are reclaimed first, and do not
    // reduce what this budget lacks.
    const uint64_t uncounted = held - std::min(held, each.most);
    const uint64_t reclaimed = each.memory->reclaim(uncounted + lacking);
    const uint64_t counted = reclaimed - std::min(reclaimed, uncounted);
    lacking -= std::min(lacking, counted);
    if (each.reserved == 0) continue;
    const Lock lock(mutex_);
    suspended_ += counted;  // the bytes of freed entries are reserved again, so suspend that reservation
  }
  return lacking < lacking_before;
}

void ByteBudget::close_accounts() {
  // Destroyed after the lock is released: this may be the last reference.
  std::vector<Account> closed;
  Lock lock(mutex_);
  closed.swap(accounts_);
}

}  // namespace forebay
