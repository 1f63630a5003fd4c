#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "base/columns.h"

namespace forebay {

/// Converts columns to Arrow arrays without nulls. Tensors become fixed-size lists, nested once per
/// dimension. Lists and strings have 64-bit offsets. Values are copied only for bools, lists of
/// strings, and columns whose offsets do not begin at 0. InvalidArgument, naming the column, for
/// text that is not UTF-8.
Result<std::shared_ptr<arrow::RecordBatch>> arrays_of(const Columns& columns);

}  // namespace forebay
