#pragma once

#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include "pipeline/json_fwd.h"

namespace forebay {

/// A number, or "nan", "inf" or "-inf", for which JSON has no numbers.
inline std::optional<double> number_or_word(const Json& value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf" || value == "-inf") return value == "inf" ? kInfinity : -kInfinity;
  return std::nullopt;
}

}  // namespace forebay
