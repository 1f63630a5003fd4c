#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "forebay/dtype.h"
#include "ops/image/cast_elements.h"

namespace forebay {

/// True if `to` can hold every number of `from`. Floating types and bool count as holding any
/// number, even if not exactly.
bool always_fits(DType from, DType to);

/// Index of the first of `n` elements that `to` cannot hold: it is out of range once rounded, or it
/// is NaN and `to` is an integer type.
std::optional<int64_t> first_unrepresentable(DType from, const uint8_t* in, DType to, int64_t n, Rounding rounding);

/// Describes the element that first_unrepresentable() found: "300 at element 2, and uint8 goes from
/// 0 to 255". Leaves the place out if `alone`.
std::string describe_unrepresentable(DType from, const uint8_t* in, DType to, int64_t index, bool alone);

}  // namespace forebay
