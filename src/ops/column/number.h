#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "ops/definition/element_types.h"
#include "ops/image/cast_elements.h"
#include "pipeline/json_fwd.h"

namespace forebay {

/// Converts an argument to an element of type T: the nearest value of a floating type, or the exact
/// value of any other type. Empty if there is no exact value.
template <typename T>
std::optional<T> element_of(const Json& value) {
  if constexpr (std::is_same_v<T, bool>) {
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number() && (value == 0 || value == 1)) return value == 1;
    return std::nullopt;
  } else if (!value.is_number()) {
    return std::nullopt;
  } else if constexpr (std::is_same_v<T, Half>) {
    return Half{half_from_double(value.get<double>())};
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    return Bfloat16{bfloat16_from_double(value.get<double>())};
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value.get<double>());
  } else if (value.is_number_float()) {
    const double number = value.get<double>();
    // 2^digits is exact as a double; the type's largest value may not be.
    const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const bool fits = number >= static_cast<double>(std::numeric_limits<T>::min()) && number < above;
    return fits && number == std::floor(number) ? std::optional<T>(static_cast<T>(number)) : std::nullopt;
  } else if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    return std::in_range<T>(number) ? std::optional<T>(static_cast<T>(number)) : std::nullopt;
  } else {
    const auto number = value.get<int64_t>();
    return std::in_range<T>(number) ? std::optional<T>(static_cast<T>(number)) : std::nullopt;
  }
}

}  // namespace forebay
