#pragma once

#include <span>
#include <string_view>

#include "forebay/dtype.h"

namespace forebay {

/// Writes the number that a decimal text spells out, or for bool true, false, 1 or 0. False where
/// it is none, or is a whole number that the dtype does not hold.
bool number_from_text(DType dtype, std::string_view text, uint8_t* out);

/// Writes elements of one type as those of another, rounded to nearest where that one is of
/// floating point. The place of the first that it does not hold, or `count`. `from` is int64,
/// uint64, float64 or bool; floats become floats alone, and bools bools.
size_t convert_numbers(DType from, const uint8_t* in, size_t count, DType to, uint8_t* out);

/// Whether elements in memory are values of the dtype: bools are 0 or 1, all else is.
bool elements_are_valid(DType dtype, std::span<const uint8_t> bytes);

}  // namespace forebay
