#include "runtime/claim.h"

#include <cassert>

namespace forebay {

namespace {

// Idle memory of the process is retained only while nobody needs the bytes.
bool charge(ByteBudget& budget, Use use, uint64_t bytes) {
  return budget.try_charge(use, bytes) ||
         (budget.reclaim(ByteBudget::Kind::kIdle, bytes) && budget.try_charge(use, bytes));
}

}  // namespace

std::optional<Claim> Claim::take(std::shared_ptr<ByteBudget> budget, Use use, uint64_t bytes) {
  if (!charge(*budget, use, bytes)) return std::nullopt;
  return Claim(std::move(budget), use, bytes);
}

Claim Claim::of_existing(std::shared_ptr<ByteBudget> budget, Use use, uint64_t bytes) {
  budget->charge_existing(use, bytes);
  return Claim(std::move(budget), use, bytes);
}

Claim Claim::of_charged(std::shared_ptr<ByteBudget> budget, Use use, uint64_t bytes) {
  return Claim(std::move(budget), use, bytes);
}

Claim& Claim::operator=(Claim&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  budget_ = std::move(other.budget_);
  use_ = other.use_;
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

bool Claim::try_grow(uint64_t more) {
  if (more == 0) return true;
  assert(budget_);
  if (!charge(*budget_, use_, more)) return false;
  bytes_ += more;
  return true;
}

void Claim::grow_existing(uint64_t more) {
  if (more == 0) return;
  assert(budget_);
  budget_->charge_existing(use_, more);
  bytes_ += more;
}

void Claim::shrink_to(uint64_t bytes) {
  if (bytes >= bytes_) return;
  budget_->release(use_, bytes_ - bytes);
  bytes_ = bytes;
}

Claim Claim::split(uint64_t bytes) {
  assert(bytes <= bytes_);
  bytes_ -= bytes;
  return Claim(budget_, use_, bytes);
}

void Claim::merge(Claim other) {
  if (other.bytes_ == 0) return;
  if (bytes_ == 0) {
    // A default-constructed claim has no use of its own yet.
    const Use use = budget_ ? use_ : other.use_;
    *this = std::move(other);
    return move_to(use);
  }
  assert(budget_ == other.budget_);
  other.move_to(use_);
  bytes_ += std::exchange(other.bytes_, 0);
}

void Claim::move_to(Use use) {
  if (bytes_ > 0 && use != use_) budget_->move(use_, use, bytes_);
  use_ = use;
}

}  // namespace forebay
