#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "arrow_codec/array_numbers.h"
#include "base/convert.h"

namespace forebay {

/// Number of binary digits that a float represents exactly.
template <typename To>
constexpr int kDigits = std::numeric_limits<To>::digits;
template <>
constexpr int kDigits<Float16> = 11;

/// True if a float with this many binary digits represents the integer exactly, whatever its
/// exponent.
template <std::integral T>
bool float_holds(T value, int digits) {
  auto size = static_cast<uint64_t>(value);
  if constexpr (std::is_signed_v<T>) {
    if (value < 0) size = 0 - size;
  }
  return size == 0 || 64 - std::countl_zero(size) - std::countr_zero(size) <= digits;
}

template <typename From>
bool to_bool(From value, bool& to) {
  to = value != 0;
  return value == 0 || value == 1;
}

template <std::integral To, std::integral From>
bool integer_to_integer(From value, To& to) {
  to = static_cast<To>(value);
  if constexpr (std::is_same_v<From, bool>)
    return true;
  else
    return std::in_range<To>(value);
}

template <std::integral To>
bool float_to_integer(double value, To& to) {
  const double end = std::ldexp(1.0, std::numeric_limits<To>::digits);
  const double least = std::is_signed_v<To> ? -end : 0.0;
  // Written so that NaN never fits.
  const bool fits = value >= least && value < end && value == std::trunc(value);
  to = fits ? static_cast<To>(value) : To{};
  return fits;
}

/// Sets `to` to the nearest float, and returns whether that is finite.
template <typename To, typename From>
bool to_finite_float(From value, To& to) {
  if constexpr (std::is_same_v<To, Float16>) {
    to.bits = float_to_half(static_cast<float>(value));
    return std::isfinite(half_to_float(to.bits));
  } else {
    to = static_cast<To>(value);
    return std::isfinite(to);
  }
}

template <typename To, std::integral From>
bool integer_to_float(From value, To& to) {
  // From 65520 on an integer becomes infinity in float16, however few digits it has.
  const bool finite = to_finite_float(value, to);
  return finite && float_holds(value, kDigits<To>);
}

template <typename To, std::floating_point From>
bool float_to_float(From value, To& to) {
  const bool finite = to_finite_float(value, to);
  return finite || !std::isfinite(value);
}

/// Sets `to` to the value. Returns false if it cannot hold the value exactly; a float that is made
/// of a float needs only be the nearest one, and finite if the value is.
template <typename To, typename From>
bool convert_number(From value, To& to) {
  if constexpr (std::is_same_v<From, Float16>) {
    return convert_number(half_to_float(value.bits), to);
  } else if constexpr (std::is_same_v<To, bool>) {
    return to_bool(value, to);
  } else if constexpr (std::is_integral_v<To>) {
    if constexpr (std::is_integral_v<From>)
      return integer_to_integer(value, to);
    else
      return float_to_integer(value, to);
  } else if constexpr (std::is_integral_v<From>) {
    return integer_to_float(value, to);
  } else {
    return float_to_float(value, to);
  }
}

/// Parses the whole text as a number, or as "true", "false", "1" and the like. Returns false if it
/// is none, or does not fit.
template <typename T>
bool parse_number(std::string_view text, T& to) {
  if constexpr (std::is_same_v<T, bool>) {
    to = text == "1" || text == "true" || text == "True";
    return to || text == "0" || text == "false" || text == "False";
  } else if constexpr (std::is_same_v<T, Float16>) {
    float value = 0;
    return parse_number(text, value) && convert_number(value, to);
  } else {
    to = T{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    return error == std::errc() && end == text.data() + text.size();
  }
}

}  // namespace forebay
