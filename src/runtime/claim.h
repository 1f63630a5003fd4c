#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/byte_budget.h"

namespace forebay {

/// Bytes of a budget that the claim's owner holds. The destructor releases them, so that callers do
/// not count by hand. Move-only. A claim belongs to one thread at a time; the budget is shared.
class Claim {
 public:
  /// A claim of no bytes.
  Claim() = default;
  /// Empty, with nothing charged, if the budget does not have that many bytes now. Reclaims idle
  /// memory of the process if need be.
  static std::optional<Claim> take(std::shared_ptr<ByteBudget> budget, Use use, uint64_t bytes);
  /// A claim of bytes that exist already, see ByteBudget::charge_existing().
  static Claim of_existing(std::shared_ptr<ByteBudget> budget, Use use, uint64_t bytes);
  /// A claim of bytes that the caller has charged to `use` before.
  static Claim of_charged(std::shared_ptr<ByteBudget> budget, Use use, uint64_t bytes);

  Claim(Claim&& other) noexcept
      : budget_(std::move(other.budget_)), use_(other.use_), bytes_(std::exchange(other.bytes_, 0)) {}
  Claim& operator=(Claim&& other) noexcept;
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() { give_back(); }

  uint64_t bytes() const { return bytes_; }

  /// Adds `more` bytes. Returns false and charges nothing if the budget does not have them now. Not
  /// for a default-constructed claim.
  bool try_grow(uint64_t more);
  /// Adds bytes that exist already.
  void grow_existing(uint64_t more);
  /// Releases all but `bytes` bytes.
  void shrink_to(uint64_t bytes);
  void give_back() { shrink_to(0); }
  /// Moves `bytes` of this claim to a new one. This claim must hold at least as many.
  Claim split(uint64_t bytes);
  /// Takes over the other claim's bytes, and charges them to this claim's use.
  void merge(Claim other);
  /// Charges the same bytes to another use.
  void move_to(Use use);

 private:
  Claim(std::shared_ptr<ByteBudget> budget, Use use, uint64_t bytes)
      : budget_(std::move(budget)), use_(use), bytes_(bytes) {}

  std::shared_ptr<ByteBudget> budget_;
  Use use_ = Use::kBatches;
  uint64_t bytes_ = 0;
};

}  // namespace forebay
