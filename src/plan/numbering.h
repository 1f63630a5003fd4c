#pragma once

#include <cassert>
#include <cstdint>
#include <limits>
#include <span>

#include "plan/divisor.h"
#include "plan/node.h"

namespace forebay {

/// Converts between a position of an epoch and its number over all epochs, epoch × size + position.
class Numbering {
 public:
  /// Larger than every number that may occur. The number of PlanNode::kNever.
  static constexpr int64_t kNever = int64_t{1} << 62;

  /// `size` is the number of positions of an epoch. If it is 0, nothing can be converted.
  explicit Numbering(int64_t size) : size_(size), divisor_(size > 0 ? size : 1) {}

  int64_t size() const { return size_; }
  /// use.position may be `size`: the first position of the next epoch. kNever if it is out of
  /// bounds.
  int64_t number_of(const Order::Use& use) const {
    int64_t number = 0;
    if (__builtin_mul_overflow(use.epoch, size_, &number) || __builtin_add_overflow(number, use.position, &number) ||
        number > kNever)
      return kNever;
    return number;
  }
  Order::Use use_of(int64_t number) const {
    assert(size_ > 0);
    if (number >= kNever) return PlanNode::kNever;
    const Divisor::Parts parts = divisor_.divide(number);
    return {parts.quotient, parts.remainder};
  }

 private:
  int64_t size_;
  Divisor divisor_;
};

/// The draws of `node` with these numbers: first, first + 1, …. They may belong to several epochs.
void numbered_draws(const PlanNode& node, const Numbering& numbering, int64_t first, std::span<Draw> out,
                    DrawPart part);

}  // namespace forebay
