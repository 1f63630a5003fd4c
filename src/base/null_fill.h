#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/column_type.h"
#include "base/table_codec.h"

namespace forebay {

/// What stands for nulls of one column.
struct NullFill {
  NullPolicy::Kind kind = NullPolicy::Kind::kError;
  std::string bytes;  ///< one element, or the whole string
};

/// A column that a policy is applied to.
struct NullColumn {
  std::string_view name;
  std::span<const std::string> structs = {};  ///< names of the structs around it, the innermost last
  ColumnType type;
  bool nullable = true;
};

struct ChosenFill {
  NullFill fill;
  Status
      status;  ///< InvalidArgument where the policy's value does not fit the column; it matters if the column is read
};

/// A column's own value comes first, then that of the innermost struct around it that has one, then the value for all.
/// Values for structs and for all are taken by columns of their kind alone; the others keep NullPolicy::kError.
ChosenFill choose_fill(const NullPolicy& nulls, const NullColumn& column);

/// The type of the value that stands for the column's nulls, where it is text, bytes or bool: for columns without a type.
std::optional<ColumnType> type_of_fill(const NullPolicy& nulls, const NullColumn& column);

/// `value` as bytes of the column. InvalidArgument if it does not fit; nothing if it is of another kind (text for numbers).
Result<std::optional<std::string>> null_bytes(const NullPolicy::Value& value, const NullColumn& column);

}  // namespace forebay
