#pragma once

#include <cstdint>

#include "forebay/dtype.h"

namespace forebay {

/// Computes ln(1 + x) of `n` elements of any type but bool: float64 from float64, float32 from the
/// rest. It uses only additions, multiplications, divisions and integer arithmetic on float64, in
/// the same way for every element, so the bits are the same on every machine. The error is at most
/// 1 unit in the last place as float32 and 2 as float64. The result is NaN below -1 and for NaN,
/// -infinity for -1, and infinity for infinity.
void log1p_values(DType from, const uint8_t* in, uint8_t* out, int64_t n);

}  // namespace forebay
