#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "runtime/byte_budget.h"
#include "runtime/fork_guard.h"

namespace forebay {

/// Divides the memory of a process among its loaders: sets the capacity of each loader's
/// ByteBudget. All methods may be called from any thread, and none waits.
///
/// A loader whose user gave a figure gets that much. The other loaders get what they want while
/// that is available. Otherwise all get the same, but no loader more than it wants or less than its
/// oldest element needs. The division is computed anew when a loader opens or closes. A loader that
/// holds more than its new part gets nothing new until it has released the difference.
class Memory : public std::enable_shared_from_this<Memory> {
 public:
  struct Demand {
    uint64_t wanted = 0;  ///< bytes that are useful
    uint64_t least = 0;   ///< bytes without which no progress is possible
    /// Limit of the sum over all loaders whose users gave no figure, as this loader computes it.
    /// The smallest of these limits counts. 0 means that the user gave `wanted` as a figure.
    uint64_t shared_limit = 0;
    /// Memory that the loader gets in addition and that is not divided: an index, cache entries
    /// whose budget the user gave.
    uint64_t extra = 0;
  };
  class Account;

  /// Always made as a shared_ptr: accounts keep it alive.
  static std::shared_ptr<Memory> make() { return std::make_shared<Memory>(); }
  std::unique_ptr<Account> open(const Demand& demand);
  /// Limits the sum over loaders whose users gave no figure, whatever limits they know.
  void set_most(uint64_t bytes);

 private:
  void divide() FOREBAY_REQUIRES(mutex_);

  Mutex mutex_;
  std::vector<Account*> accounts_ FOREBAY_GUARDED_BY(mutex_);
  uint64_t most_ FOREBAY_GUARDED_BY(mutex_) = UINT64_MAX;
};

/// The part of one loader.
class Memory::Account {
 public:
  ~Account();
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  /// The capacity of the budget is the loader's part. Claims may outlive the account.
  const std::shared_ptr<ByteBudget>& budget() const { return budget_; }
  /// Raises the need of the loader's oldest element to `least` bytes. Returns false if that exceeds
  /// the limit for such loaders, or if the user gave a figure.
  bool raise(uint64_t least);

 private:
  friend class Memory;
  Account(std::shared_ptr<Memory> memory, const Demand& demand)
      : generation_(process_generation()), memory_(std::move(memory)), demand_(demand),
        budget_(std::make_shared<ByteBudget>(demand.wanted + demand.extra)) {}
  bool fixed() const { return demand_.shared_limit == 0; }

  const uint64_t generation_;
  const std::shared_ptr<Memory> memory_;
  // Guarded by the mutex of memory_, which the analysis does not take for the one in divide().
  Demand demand_;
  const std::shared_ptr<ByteBudget> budget_;
};

}  // namespace forebay
