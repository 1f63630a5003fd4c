#pragma once

#include <span>
#include <string_view>

#include "forebay/dtype.h"

namespace forebay {

/// Writes the number of a decimal text, or for bool that of true, false, 1 or 0. False if the text
/// is no number, or a whole number that the dtype cannot hold.
bool number_from_text(DType dtype, std::string_view text, uint8_t* out);

/// Converts elements from one type to another, rounded to nearest if the target is floating point.
/// Returns the index of the first element that the target cannot hold, or `count`. `from` is int64,
/// uint64, float64 or bool. Floats can only become floats, and bools only bools.
size_t convert_numbers(DType from, const uint8_t* in, size_t count, DType to, uint8_t* out);

/// Whether elements in memory are valid for the dtype: bools must be 0 or 1; all others are valid.
bool elements_are_valid(DType dtype, std::span<const uint8_t> bytes);

}  // namespace forebay
