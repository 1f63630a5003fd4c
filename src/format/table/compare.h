#pragma once

#include <cmath>
#include <compare>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <utility>

namespace forebay {

/// Compares exactly, whatever the types: an integer and a float are compared as the real numbers
/// they represent. A NaN is unordered.
template <std::integral A, std::integral B>
std::partial_ordering compare_exact(A a, B b) {
  if constexpr (std::same_as<A, bool> || std::same_as<B, bool>) {
    return static_cast<int>(a) <=> static_cast<int>(b);
  } else {
    if (std::cmp_less(a, b)) return std::partial_ordering::less;
    return std::cmp_equal(a, b) ? std::partial_ordering::equivalent : std::partial_ordering::greater;
  }
}

template <std::integral A>
std::partial_ordering compare_exact(A a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= 0x1p64) return std::partial_ordering::less;
  if (b < -0x1p63) return std::partial_ordering::greater;
  const double whole = std::floor(b);
  const std::partial_ordering order =
      whole < 0 ? compare_exact(a, static_cast<int64_t>(whole)) : compare_exact(a, static_cast<uint64_t>(whole));
  return order == 0 && whole < b ? std::partial_ordering::less : order;
}

template <std::integral B>
std::partial_ordering compare_exact(double a, B b) {
  return 0 <=> compare_exact(b, a);
}

inline std::partial_ordering compare_exact(double a, double b) { return a <=> b; }

/// Compares bytes, which in UTF-8 gives the order of code points.
inline std::partial_ordering compare_exact(std::string_view a, std::string_view b) { return a <=> b; }

/// Never called: prepare() refuses to compare a text with a number.
template <typename A, typename B>
  requires(std::same_as<A, std::string_view> != std::same_as<B, std::string_view>)
std::partial_ordering compare_exact(A, B) {
  return std::partial_ordering::unordered;
}

}  // namespace forebay
