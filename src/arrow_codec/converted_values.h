#pragma once

#include <cstdint>
#include <span>

#include <arrow/type_fwd.h>

#include "arrow_codec/leaf_values.h"
#include "base/column_type.h"
#include "forebay/result.h"

namespace forebay {

/// Converts the segments of `array`, `count` elements in all, to elements of another type.
/// readable_as() must hold, and the array must not be a dictionary or an extension array.
/// LeafValues::exact marks the values that `to` cannot hold.
Result<LeafValues> converted_values(const arrow::Array& array, std::span<const Segment> segments, int64_t count,
                                    const ColumnType& to, FloatRounding rounding);

}  // namespace forebay
