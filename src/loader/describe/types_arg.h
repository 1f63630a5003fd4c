#pragma once

#include "base/column_type.h"
#include "pipeline/description.h"

namespace forebay {

/// The argument `types` of a source: `{column: type}` with the words of parse_column_type(). Null: none.
/// InvalidArgument names the column.
Result<ColumnTypes> parse_types(const Json& json);

}  // namespace forebay
