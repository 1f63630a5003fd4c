#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <arrow/type_fwd.h>

#include "arrow_codec/leaf_values.h"
#include "base/column_type.h"
#include "forebay/result.h"

namespace forebay {

/// Converts the segments of `array`, `count` elements in all, to elements of another type.
/// readable_as() must hold, and the array must not be a dictionary or an extension array.
/// LeafValues::exact marks the values that `to` cannot hold. If `round`, decimals and floats may
/// become the nearest float.
Result<LeafValues> converted_values(const arrow::Array& array, std::span<const Segment> segments, int64_t count,
                                    const ColumnType& to, bool round);

/// Appends an element of an array of bools, integers, floats or decimals as text: all digits of a
/// decimal, or the shortest text that reads back as the same float.
void append_text(const arrow::Array& array, int64_t index, std::string& out);

/// Combines two readings of INT96 timestamps into `ticks` per second: `seconds`, which never
/// overflow, and `nanoseconds`, which may. Writes to `out`, and clears the byte of a value in
/// `exact` if the value does not fit or has a finer fraction.
void join_int96(std::span<const int64_t> seconds, std::span<const int64_t> nanoseconds, int64_t ticks, int64_t* out,
                uint8_t* exact);

}  // namespace forebay
