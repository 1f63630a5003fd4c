#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "arrow_codec/convert_number.h"
#include "arrow_codec/leaf_values.h"

namespace forebay {

/// The decimal with all its digits and without an exponent.
template <typename Decimal>
std::string decimal_text(const Decimal& value, int32_t scale) {
  std::string digits = value.ToIntegerString();
  const bool negative = digits.starts_with('-');
  if (negative) digits.erase(0, 1);
  if (scale < 0 && digits != "0") digits.append(static_cast<size_t>(-scale), '0');
  if (scale > 0) {
    const auto fraction = static_cast<size_t>(scale);
    if (digits.size() <= fraction) digits.insert(0, fraction + 1 - digits.size(), '0');
    digits.insert(digits.size() - fraction, 1, '.');
  }
  return negative ? "-" + digits : digits;
}

/// True if no other decimal of that scale has the same nearest float64.
inline bool is_unambiguous(double nearest, std::string_view text, int32_t scale) {
  return fmt::format("{:.{}f}", nearest, std::max(scale, 0)) == text;
}

/// The nearest float64. With FloatRounding::kExact only if the decimal has at most 15 digits, or is
/// the only one of its scale with this nearest float64.
template <typename Decimal>
std::optional<double> decimal_to_double(const Decimal& value, int32_t scale, FloatRounding rounding) {
  constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  // A float64 preserves 15 digits, and powers of ten up to 10^22 are exact, so a single division
  // rounds only once.
  constexpr int64_t kExactLimit = 1'000'000'000'000'000;
  bool exact_digits = true;
  if constexpr (sizeof(Decimal) > 4) exact_digits = value > Decimal(-kExactLimit) && value < Decimal(kExactLimit);
  if (scale >= 0 && scale <= 22 && exact_digits) return value.ToDouble(0) / kPowers[scale];
  const std::string text = decimal_text(value, scale);
  double nearest = 0;
  if (!parse_number(std::string_view(text), nearest)) return std::nullopt;
  if (rounding == FloatRounding::kExact && !exact_digits && !is_unambiguous(nearest, text, scale)) return std::nullopt;
  return nearest;
}

/// Sets `to` to the decimal. Returns false if it cannot hold the value; a float need only be the
/// nearest one, as decimal_to_double() finds it. A decimal is never a bool.
template <typename Decimal, typename To>
bool convert_decimal(const Decimal& value, int32_t scale, FloatRounding rounding, To& to) {
  if constexpr (std::is_same_v<To, bool>) {
    return false;
  } else if constexpr (std::is_integral_v<To>) {
    std::string text = decimal_text(value, scale);
    if (const size_t point = text.find('.'); point != std::string::npos) {
      if (text.find_first_not_of('0', point + 1) != std::string::npos) return false;
      text.resize(point);
    }
    if (text == "-0") text = "0";
    return parse_number(std::string_view(text), to);
  } else {
    const std::optional<double> nearest = decimal_to_double(value, scale, rounding);
    return nearest && convert_number(*nearest, to);
  }
}

}  // namespace forebay
