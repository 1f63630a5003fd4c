#include "runtime/memory.h"

#include <algorithm>
#include <utility>

namespace forebay {

namespace {

uint64_t part(const Memory::Demand& demand, uint64_t level) {
  return std::max(std::min(level, demand.wanted), demand.least);
}

// The largest level for which all parts fit into `bytes` together.
uint64_t level_of(const std::vector<Memory::Demand>& demands, uint64_t bytes) {
  uint64_t low = 0, high = 0;
  for (const Memory::Demand& demand : demands) high = std::max(high, demand.wanted);
  // The sum grows with `level`, so bisection finds the maximum. If not even the minimum needs fit,
  // it ends at 0, and all loaders get their minimum.
  const auto fits = [&](uint64_t level) {
    uint64_t sum = 0;
    for (const Memory::Demand& demand : demands) sum += part(demand, level);
    return sum <= bytes;
  };
  if (fits(high)) return high;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::unique_ptr<Memory::Account> Memory::open(const Demand& demand) {
  std::unique_ptr<Account> account(new Account(shared_from_this(), demand));
  const Lock lock(mutex_);
  accounts_.push_back(account.get());
  divide();
  return account;
}

void Memory::set_most(uint64_t bytes) {
  const Lock lock(mutex_);
  most_ = bytes;
  divide();
}

void Memory::divide() {
  uint64_t bytes = most_, fixed = 0;
  std::vector<Demand> demands;
  for (const Account* account : accounts_) {
    // Figures of users come first. The other loaders divide the rest, and get their minimum in any
    // case.
    if (account->fixed()) {
      fixed += account->demand_.wanted;
    } else {
      bytes = std::min(bytes, account->demand_.shared_limit);
      demands.push_back(account->demand_);
    }
  }
  const uint64_t level = level_of(demands, bytes > fixed ? bytes - fixed : 0);
  for (const Account* account : accounts_) {
    // Lock order: Memory's, then the budget's. Budgets do not know Memory, so the reverse cannot
    // occur.
    if (!account->fixed()) account->budget_->set_capacity(part(account->demand_, level) + account->demand_.extra);
  }
}

Memory::Account::~Account() {
  // A thread that does not exist here may hold the lock.
  if (process_generation() != generation_) return;
  const Lock lock(memory_->mutex_);
  std::erase(memory_->accounts_, this);
  memory_->divide();
}

bool Memory::Account::raise(uint64_t least) {
  const Lock lock(memory_->mutex_);
  // The caller counts all that it holds; memory beside its part is not divided.
  least -= std::min(least, demand_.extra);
  if (fixed() || least > demand_.shared_limit) return false;
  demand_.least = std::max(demand_.least, least);
  demand_.wanted = std::max(demand_.wanted, least);
  memory_->divide();
  return true;
}

}  // namespace forebay
