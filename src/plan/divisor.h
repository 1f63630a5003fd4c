#pragma once

#include <cstdint>

namespace forebay {

/// Division by a number that is known in advance. Takes a multiplication and a comparison; the
/// division instruction takes up to 90 cycles.
class Divisor {
 public:
  struct Parts {
    int64_t quotient = 0, remainder = 0;
  };
  /// `divisor` is at least 1.
  explicit Divisor(int64_t divisor)
      : divisor_(static_cast<uint64_t>(divisor)), reciprocal_(UINT64_MAX / static_cast<uint64_t>(divisor)) {}

  /// `value` is at least 0. The reciprocal is too small by less than 2^-64 × value, so the estimate
  /// is at most one too small.
  Parts divide(int64_t value) const {
    const auto n = static_cast<uint64_t>(value);
    auto quotient = static_cast<uint64_t>(static_cast<unsigned __int128>(n) * reciprocal_ >> 64);
    uint64_t remainder = n - quotient * divisor_;
    if (remainder >= divisor_) ++quotient, remainder -= divisor_;
    return {static_cast<int64_t>(quotient), static_cast<int64_t>(remainder)};
  }

 private:
  uint64_t divisor_, reciprocal_;
};

}  // namespace forebay
