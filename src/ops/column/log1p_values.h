#pragma once

#include <cstdint>

#include "forebay/dtype.h"

namespace forebay {

/// ln(1 + x) of `n` elements of any type but bool: float64 from float64, else float32. Made of additions, multiplications, divisions
/// and whole-number arithmetic in float64, one element like the other, so the bits are the same on every machine. Right to 1 chunk
/// in the last place as float32, to 2 as float64. NaN below -1 and for NaN, -infinity for -1, infinity for infinity.
void log1p_values(DType from, const uint8_t* in, uint8_t* out, int64_t n);

}  // namespace forebay
