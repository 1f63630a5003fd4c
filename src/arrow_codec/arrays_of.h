#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "base/columns.h"

namespace forebay {

/// The columns as Arrow's: tensors are fixed-size lists, one in another for each dimension; lists and strings have 64-bit offsets; nothing is null.
/// Values are not copied, but for bools and lists of strings, and offsets that do not begin at 0.
/// InvalidArgument, naming the column, for text that is not UTF-8.
Result<std::shared_ptr<arrow::RecordBatch>> arrays_of(const Columns& columns);

}  // namespace forebay
