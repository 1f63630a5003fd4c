#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/column_op.h"

namespace forebay {

/// .cast for many rows at once. Unless `saturates`, a row with a number that the type cannot hold
/// is bad.
std::unique_ptr<ColumnOp> cast_columns(std::vector<std::string> fields, DType dtype, bool saturates);

/// The error of a sample with such a number. `what` is the text from describe_unrepresentable().
Status cast_range_error(std::string_view field, std::string_view what);

}  // namespace forebay
