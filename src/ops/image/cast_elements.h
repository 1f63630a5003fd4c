#pragma once

#include <cstdint>

#include "forebay/dtype.h"

namespace forebay {

/// The rounding of fractions to integers.
enum class Rounding : uint8_t { kHalfToEven, kTowardZero };

/// Converts `n` elements. Floating types get the nearest value. Integer types get the rounded
/// value, saturated at the ends of the type, and 0 for NaN. bool is true for everything but 0.
void cast_elements(DType from, const uint8_t* in, DType to, uint8_t* out, int64_t n,
                   Rounding rounding = Rounding::kHalfToEven);

/// IEEE half precision, rounded half to even.
uint16_t half_from_double(double value);
double double_from_half(uint16_t half);
/// bfloat16, rounded half to even in a single rounding.
uint16_t bfloat16_from_double(double value);

}  // namespace forebay
