#pragma once

#include <cmath>

#include "forebay/dtype.h"

namespace forebay {

/// True if an element of this type can be `value`. Floating types are taken to hold every number.
inline bool can_hold(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBfloat16:
    case DType::kFloat32:
    case DType::kFloat64: return true;
    case DType::kBool: return value == 0 || value == 1;
    default: break;
  }
  const int bits = static_cast<int>(dtype_size(dtype)) * 8;
  const bool is_signed =
      dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32 || dtype == DType::kInt64;
  // A power of two is exact in a double, but the largest 64-bit value is not. NaN fails all of
  // these comparisons.
  const double above = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  return value == std::floor(value) && value < above && value >= (is_signed ? -above : 0.0);
}

}  // namespace forebay
