#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/columns.h"
#include "base/table_codec.h"

namespace forebay {

/// The comparison of a RowCondition.
enum class CompareOp : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn };

/// Parses "==" (also "="), "!=", "<", "<=", ">", ">=", "in" or "not in".
std::optional<CompareOp> compare_op(std::string_view text);
std::string_view op_name(CompareOp op);

using FilterValue = std::variant<bool, int64_t, double, std::string>;

/// Compares one column with a value, or with the values of `in` and `not in`.
struct RowCondition {
  std::string column;
  CompareOp op = CompareOp::kEqual;
  std::vector<FilterValue> values;
};

/// Selects the rows for which all conditions of at least one list hold. Without a list it selects
/// every row.
using RowFilter = std::vector<std::vector<RowCondition>>;

/// How many rows of a group certainly match.
enum class Matches : uint8_t { kNone, kSome, kAll };

/// Checks a condition and sorts its values, on which the functions below rely. InvalidArgument,
/// naming the column, if the values cannot be compared with the column. `ticks_per_day` is set for
/// columns of dates and times, which may be compared with ISO 8601 text.
Status prepare(RowCondition& condition, const Field& field, std::optional<int64_t> ticks_per_day);

/// Evaluates a condition on a group's statistics. A null matches no condition.
Matches match_bounds(const RowCondition& condition, const Field& field, const FieldBounds& bounds, int64_t rows);

/// Clears matches[i] if row i does not match; entries that are already clear stay clear. `valid`
/// has one byte per row, 0 for nulls; it is empty if there are no nulls. `matches` has one entry
/// per row. Takes time linear in the rows and logarithmic in the values of `in`.
void match_rows(const RowCondition& condition, const Field& field, const ColumnValues& column,
                std::span<const uint8_t> valid, std::span<uint8_t> matches);

/// Evaluates a condition on one value, for partition folders.
bool match_value(const RowCondition& condition, int64_t value);
bool match_value(const RowCondition& condition, std::string_view value);

}  // namespace forebay
