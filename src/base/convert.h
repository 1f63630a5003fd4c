#pragma once

#include <cstddef>
#include <cstdint>

#include "forebay/dtype.h"

namespace forebay {

/// IEEE 754 half precision, rounding to nearest even.
uint16_t float_to_half(float value);
float half_to_float(uint16_t half);

/// bfloat16, rounding to nearest even; a NaN stays a NaN.
uint16_t float_to_bfloat16(float value);
float bfloat16_to_float(uint16_t bits);

/// Sets `count` elements of type `dtype` to `value`: rounded to nearest and saturated for integers.
void fill(DType dtype, double value, void* out, size_t count);

}  // namespace forebay
