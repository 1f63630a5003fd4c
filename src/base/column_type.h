#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/schema.h"
#include "forebay/dtype.h"
#include "forebay/result.h"

namespace forebay {

/// What the integers of a field of dates, times or durations count.
struct TimeType {
  int64_t ticks_per_day = 0;  ///< 1: days
  bool since_1970 = false;    ///< dates and points in time
  friend bool operator==(const TimeType&, const TimeType&) = default;
};

/// The type of a column's values. Elements of lists and tensors have it; nesting is no part of it.
struct ColumnType {
  FieldKind kind = FieldKind::kTensor;  ///< kTensor, kText or kBytes
  DType dtype = DType::kUint8;          ///< of kTensor
  std::optional<TimeType> time = {};    ///< of int64
  friend bool operator==(const ColumnType&, const ColumnType&) = default;
};

/// The argument `types=`: column → type that it is read as. Names are unique.
using ColumnTypes = std::vector<std::pair<std::string, ColumnType>>;

/// "bool", "int8" to "uint64", "float16" to "float64", "string" (also "text"), "bytes", "datetime64[D]" and [s], [ms], [us], [ns], and
/// "timedelta64[s]" to [ns]. InvalidArgument, listing the words, for others.
Result<ColumnType> parse_column_type(std::string_view word);
/// What parse_column_type() takes; for units that have no word "int64".
std::string column_type_word(const ColumnType& type);
/// "datetime64[us]" as NumPy has it, or nothing for a unit that NumPy has no name for.
std::string time_word(const TimeType& time);

/// The narrowest type that holds all values of both, or nothing where there is none: integers and floats widen, times take the finer
/// unit. Symmetric.
std::optional<ColumnType> common_type(const ColumnType& a, const ColumnType& b);

/// For identities: equal texts for equal types alone.
std::string column_types_text(const ColumnTypes& types);
const ColumnType* find_type(const ColumnTypes& types, std::string_view column);

}  // namespace forebay
