#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/byte_budget.h"
#include "runtime/fork_guard.h"

namespace forebay {

/// What the loaders of a process may hold together, divided among them. All methods are safe from any thread; none waits.
///
/// A loader whose user said how much gets that. The others get what they want as long as that is there; else as much as each
/// other, but nobody more than it wants, and nobody less than its oldest element needs. It is divided anew when one comes or
/// goes: whoever holds more than its part then gets nothing new before it has given back so much.
class Memory : public std::enable_shared_from_this<Memory> {
 public:
  struct Demand {
    uint64_t wanted = 0;  ///< bytes that are of use
    uint64_t least = 0;   ///< without so many nothing goes on
    /// What such loaders may have together, as this one knows it; the smallest such figure counts. 0: the user said `wanted`.
    uint64_t together = 0;
    /// What it has on top of its part, and what is not divided: an index, entries of caches whose budget the user gave.
    uint64_t beside = 0;
  };
  class Account;

  /// Always made as a shared_ptr: accounts keep it alive.
  static std::shared_ptr<Memory> make() { return std::make_shared<Memory>(); }
  std::unique_ptr<Account> open(const Demand& demand);
  /// Those whose users gave no figure have at most so much together, whatever they know of.
  void set_most(uint64_t bytes);

 private:
  void divide();  // with the lock held

  std::mutex mutex_;
  std::vector<Account*> accounts_;
  uint64_t most_ = UINT64_MAX;
};

/// One loader's part.
class Memory::Account {
 public:
  ~Account();
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  /// Its capacity is the part. Claims may outlast the account.
  const std::shared_ptr<ByteBudget>& budget() const { return budget_; }
  /// Its oldest element needs so many. False where that is more than such loaders may have together, or the user said how much.
  bool raise(uint64_t least);

 private:
  friend class Memory;
  Account(std::shared_ptr<Memory> memory, const Demand& demand)
      : generation_(process_generation()), memory_(std::move(memory)), demand_(demand),
        budget_(std::make_shared<ByteBudget>(demand.wanted + demand.beside)) {}
  bool fixed() const { return demand_.together == 0; }

  const uint64_t generation_;
  const std::shared_ptr<Memory> memory_;
  Demand demand_;  // guarded by the memory's lock
  const std::shared_ptr<ByteBudget> budget_;
};

}  // namespace forebay
