#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/byte_budget.h"

namespace forebay {

/// Bytes of a budget that somebody holds. They are given back when it dies, so nobody counts up and down by hand. Move-only; a
/// claim belongs to one thread at a time, the budget to all.
class Claim {
 public:
  /// Of nothing.
  Claim() = default;
  /// Nothing, and nothing taken, where the budget does not have so many now.
  static std::optional<Claim> take(std::shared_ptr<ByteBudget> budget, Use use, uint64_t bytes);
  /// Of bytes that exist already: see ByteBudget::charge_existing().
  static Claim of_existing(std::shared_ptr<ByteBudget> budget, Use use, uint64_t bytes);
  /// Of bytes that the caller has charged to that use before.
  static Claim of_charged(std::shared_ptr<ByteBudget> budget, Use use, uint64_t bytes);

  Claim(Claim&& other) noexcept
      : budget_(std::move(other.budget_)), use_(other.use_), bytes_(std::exchange(other.bytes_, 0)) {}
  Claim& operator=(Claim&& other) noexcept;
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() { give_back(); }

  uint64_t bytes() const { return bytes_; }

  /// So many more. False, and nothing taken, where the budget does not have them now. Not of a claim of nothing.
  bool try_grow(uint64_t more);
  /// The same for bytes that exist already.
  void grow_existing(uint64_t more);
  /// Gives back what is beyond `bytes`.
  void shrink_to(uint64_t bytes);
  void give_back() { shrink_to(0); }
  /// A claim of `bytes` of these, which are at least so many.
  Claim split(uint64_t bytes);
  /// Takes over another one's bytes, for this one's use.
  void merge(Claim other);
  /// The same bytes, for something else from now on.
  void move_to(Use use);

 private:
  Claim(std::shared_ptr<ByteBudget> budget, Use use, uint64_t bytes)
      : budget_(std::move(budget)), use_(use), bytes_(bytes) {}

  std::shared_ptr<ByteBudget> budget_;
  Use use_ = Use::kBatches;
  uint64_t bytes_ = 0;
};

}  // namespace forebay
