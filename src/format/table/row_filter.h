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

enum class CompareOp : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn };

/// "==" (also "="), "!=", "<", "<=", ">", ">=", "in", "not in".
std::optional<CompareOp> compare_op(std::string_view text);
std::string_view op_name(CompareOp op);

using FilterValue = std::variant<bool, int64_t, double, std::string>;

/// One column against a value, or against the values of `in` and `not in`.
struct RowCondition {
  std::string column;
  CompareOp op = CompareOp::kEqual;
  std::vector<FilterValue> values;
};

/// Rows for which all conditions of at least one list hold. Without a list: every row.
using RowFilter = std::vector<std::vector<RowCondition>>;

/// What is certain about the rows of a group.
enum class Matches : uint8_t { kNone, kSome, kAll };

/// InvalidArgument, naming the column, where its values cannot be compared with those of the condition. Sorts the values, which
/// the functions below rely on. `ticks_per_day`: of columns of dates and times, which may be compared with ISO 8601 text.
Status prepare(RowCondition& condition, const Field& field, std::optional<int64_t> ticks_per_day);

/// What a group's statistics decide. A null matches no condition.
Matches match_bounds(const RowCondition& condition, const Field& field, const FieldBounds& bounds, int64_t rows);

/// Clears matches[i] where row i does not match. `valid`: a byte a row, 0 for nulls; empty where there are none.
/// `matches` and the column have as many rows; what is cleared already stays so. Linear in the rows, logarithmic in the values of `in`.
void match_rows(const RowCondition& condition, const Field& field, const ColumnValues& column,
                std::span<const uint8_t> valid, std::span<uint8_t> matches);

/// One value against a condition: partition folders.
bool match_value(const RowCondition& condition, int64_t value);
bool match_value(const RowCondition& condition, std::string_view value);

}  // namespace forebay
