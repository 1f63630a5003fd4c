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

/// Unit of the integers in a field of dates, times or durations.
struct TimeType {
  int64_t ticks_per_day = 0;  ///< 1: days
  bool since_1970 = false;    ///< true for dates and points in time
  friend bool operator==(const TimeType&, const TimeType&) = default;
};

/// Type of a column's values, or of the elements of lists and tensors. It says nothing of nesting.
struct ColumnType {
  FieldKind kind = FieldKind::kTensor;  ///< kTensor, kText or kBytes
  DType dtype = DType::kUint8;          ///< of kTensor
  std::optional<TimeType> time = {};    ///< for int64 alone
  friend bool operator==(const ColumnType&, const ColumnType&) = default;
};

/// The argument `types=`: each column with the type that it is read as. Names are unique.
using ColumnTypes = std::vector<std::pair<std::string, ColumnType>>;

/// Parses "bool", "int8" to "uint64", "float16" to "float64", "string" (also "text"), "bytes",
/// "datetime64[D]" and [s], [ms], [us], [ns], and "timedelta64[s]" to [ns]. InvalidArgument,
/// listing the words, for others.
Result<ColumnType> parse_column_type(std::string_view word);
/// The word that parse_column_type() accepts for the type; "int64" for units without a word.
std::string column_type_word(const ColumnType& type);
/// NumPy's name of the type, such as "datetime64[us]". Empty for a unit that NumPy does not have.
std::string time_word(const TimeType& time);

/// The narrowest type that holds all values of both types, if there is one: integers and floats
/// widen, times take the finer unit. Symmetric.
std::optional<ColumnType> common_type(const ColumnType& a, const ColumnType& b);

/// Text for identities. Only equal types have equal texts.
std::string column_types_text(const ColumnTypes& types);
const ColumnType* find_type(const ColumnTypes& types, std::string_view column);

}  // namespace forebay
