#include "ops/image/cast_elements.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "ops/definition/element_types.h"

namespace forebay {
namespace {

template <Rounding kRounding, typename To, typename From>
To saturate_float(From value) {
  const From rounded = kRounding == Rounding::kHalfToEven ? std::nearbyint(value) : value;
  // 2^digits is exact in every floating type; the type's largest value may not be.
  const From above = std::ldexp(From{1}, std::numeric_limits<To>::digits);
  // Compares before converting, because converting a value that does not fit is undefined.
  const bool high = rounded >= above, low = rounded <= static_cast<From>(std::numeric_limits<To>::min());
  // No branches, so that the compiler can vectorize.
  To made = static_cast<To>(high || low || rounded != rounded ? From{0} : rounded);
  made = high ? std::numeric_limits<To>::max() : made;
  return low ? std::numeric_limits<To>::min() : made;
}

template <typename To, typename From>
To saturate_integer(From value) {
  if (std::cmp_greater(value, std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  if (std::cmp_less(value, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(value);
}

// `Exact` can represent every value of From and every float.
template <typename Exact, typename From>
uint16_t bfloat16_from(From value) {
  const auto number = static_cast<Exact>(value);
  auto single = static_cast<float>(value);
  // Rounds to odd first. The second rounding then knows on which side of a tie the number was.
  if (static_cast<Exact>(single) != number && number == number) {
    uint32_t bits = std::bit_cast<uint32_t>(single);
    // If the nearest float has a larger magnitude, the next smaller one is the truncated number.
    if (std::abs(static_cast<Exact>(single)) > std::abs(number)) --bits;
    single = std::bit_cast<float>(bits | 1);
  }
  return float_to_bfloat16(single);
}

template <Rounding kRounding, typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_same_v<To, Half> && std::is_same_v<From, float>) {
    return {float_to_half(value)};
  } else if constexpr (std::is_same_v<To, Half>) {
    return {half_from_double(static_cast<double>(value))};
  } else if constexpr (std::is_same_v<To, Bfloat16> && std::is_same_v<From, float>) {
    return {float_to_bfloat16(value)};
  } else if constexpr (std::is_same_v<To, Bfloat16>) {
    // A double cannot represent all 64-bit integers.
    using Exact = std::conditional_t<std::is_integral_v<From> && sizeof(From) == 8, long double, double>;
    return {bfloat16_from<Exact>(value)};
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_floating_point_v<From>) {
    return saturate_float<kRounding, To>(value);
  } else {
    return saturate_integer<To>(static_cast<std::conditional_t<std::is_same_v<From, bool>, uint8_t, From>>(value));
  }
}

template <Rounding kRounding, typename From, typename To>
void cast_all(const uint8_t* in, uint8_t* out, int64_t n) {
  map_elements<From, To>(in, out, n, [](From value) { return convert<kRounding, To>(widen(value)); });
}

}  // namespace

uint16_t half_from_double(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 48) & 0x8000);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
  const double size = std::abs(value);
  if (size >= 65520.0) return static_cast<uint16_t>(sign | 0x7c00);  // rounds to infinity
  // Number of units in the last place: 2^-24 for subnormal values, else 10 bits below the leading
  // one.
  int exponent = -14;
  if (size >= 0x1p-14) exponent = std::ilogb(size);
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  // A carry out of the mantissa increments the exponent.
  const uint32_t low = size >= 0x1p-14 ? units + (static_cast<uint32_t>(exponent + 14) << 10) : units;
  return static_cast<uint16_t>(sign | low);
}

double double_from_half(uint16_t half) {
  const int exponent = (half >> 10) & 31, mantissa = half & 1023;
  double size = 0;
  if (exponent == 31) {
    size = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    size = std::ldexp(mantissa, -24);
  } else {
    size = std::ldexp(1024 + mantissa, exponent - 25);
  }
  return (half & 0x8000) != 0 ? -size : size;
}

uint16_t bfloat16_from_double(double value) { return bfloat16_from<double>(value); }

void cast_elements(DType from, const uint8_t* in, DType to, uint8_t* out, int64_t n, Rounding rounding) {
  // Copies the bytes, so a NaN keeps its payload.
  if (from == to) {
    if (n > 0) std::memcpy(out, in, static_cast<size_t>(n) * dtype_size(from));
    return;
  }
  with_element(from, [&](auto a) {
    with_element(to, [&](auto b) {
      using From = decltype(a);
      using To = decltype(b);
      // Rounding matters only in conversions that lose fractions.
      constexpr bool kLoses = kIsFloat<From> && std::is_integral_v<To>;
      if constexpr (kLoses) {
        if (rounding == Rounding::kHalfToEven) return cast_all<Rounding::kHalfToEven, From, To>(in, out, n);
      }
      cast_all<Rounding::kTowardZero, From, To>(in, out, n);
    });
  });
}

}  // namespace forebay
