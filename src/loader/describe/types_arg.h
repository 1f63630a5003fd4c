#pragma once

#include "base/column_type.h"
#include "pipeline/json_fwd.h"

namespace forebay {

/// Parses the argument `types` of a source: `{column: type}` with the words of parse_column_type().
/// Null means no types. InvalidArgument names the column.
Result<ColumnTypes> parse_types(const Json& json);

}  // namespace forebay
