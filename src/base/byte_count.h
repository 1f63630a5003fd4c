#pragma once

#include <cstdint>

namespace forebay {

/// A number of bytes whose sums and products saturate: an estimate that wrapped would ask for less
/// memory than a smaller one.
class ByteCount {
 public:
  constexpr ByteCount(uint64_t value = 0) : value_(value) {}
  constexpr uint64_t value() const { return value_; }

  friend constexpr ByteCount operator+(ByteCount a, ByteCount b) {
    return b.value_ > UINT64_MAX - a.value_ ? UINT64_MAX : a.value_ + b.value_;
  }
  friend constexpr ByteCount operator*(ByteCount a, ByteCount b) {
    return a.value_ != 0 && b.value_ > UINT64_MAX / a.value_ ? UINT64_MAX : a.value_ * b.value_;
  }
  friend constexpr ByteCount operator/(ByteCount a, uint64_t by) { return a.value_ / by; }
  constexpr ByteCount& operator+=(ByteCount other) { return *this = *this + other; }
  friend constexpr auto operator<=>(ByteCount a, ByteCount b) = default;

 private:
  uint64_t value_;
};

}  // namespace forebay
