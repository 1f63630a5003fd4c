#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/column_type.h"
#include "base/table_codec.h"

namespace forebay {

/// The value that replaces the nulls of one column.
struct NullFill {
  NullPolicy::Kind kind = NullPolicy::Kind::kError;
  std::string bytes;  ///< one element, or the whole string
};

/// A column that a policy is applied to.
struct NullColumn {
  std::string_view name;
  std::span<const std::string> structs = {};  ///< enclosing structs, the innermost last
  ColumnType type;
  bool nullable = true;
};

struct ChosenFill {
  NullFill fill;
  /// InvalidArgument if the policy's value does not fit the column. Matters only if the column is
  /// read.
  Status status;
};

/// Chooses the value for a column: its own value if there is one, otherwise that of the innermost
/// enclosing struct that has one, otherwise the value for all columns. A value for a struct or for
/// all applies only to columns of its kind; other columns keep NullPolicy::kError.
ChosenFill choose_fill(const NullPolicy& nulls, const NullColumn& column);

/// Type of the value for the column's nulls, if it is text, bytes or bool. A column without a type
/// of its own takes this type.
std::optional<ColumnType> type_of_fill(const NullPolicy& nulls, const NullColumn& column);

/// `value` as bytes of the column. InvalidArgument if it does not fit the column; empty if it is of
/// another kind (text for numbers).
Result<std::optional<std::string>> null_bytes(const NullPolicy::Value& value, const NullColumn& column);

}  // namespace forebay
