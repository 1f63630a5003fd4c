#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <arrow/type_fwd.h>

#include "arrow_codec/leaf_values.h"
#include "base/column_type.h"
#include "forebay/result.h"

namespace forebay {

/// The segments of `array`, `count` places in all, as elements of another type than its own (readable_as() holds; no dictionary and no
/// extension). LeafValues::exact says which values `to` does not hold. `round`: decimals and floats may become the nearest float.
Result<LeafValues> converted_values(const arrow::Array& array, std::span<const Segment> segments, int64_t count,
                                    const ColumnType& to, bool round);

/// The value at a place as text: all digits of decimals, the shortest text that reads back as the same float.
/// `array`: of bools, integers, floats or decimals.
void append_text(const arrow::Array& array, int64_t place, std::string& out);

/// INT96 timestamps in `ticks` a second, from two readings: `seconds`, which never wrap, and `nanoseconds`, which do. Writes to
/// `out` and clears `exact` (a byte each) where a value does not fit or has a finer part.
void join_int96(std::span<const int64_t> seconds, std::span<const int64_t> nanoseconds, int64_t ticks, int64_t* out,
                uint8_t* exact);

}  // namespace forebay
