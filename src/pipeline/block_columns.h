#pragma once

#include <cstdint>
#include <vector>

#include "base/columns.h"
#include "forebay/batch.h"

namespace forebay {

/// The fields of packed blocks as columns of `rows` rows, and back. Nothing is copied. The fields
/// are arrays, or (values, offsets) of numbers.
Columns columns_of(std::vector<BatchField> fields, int64_t rows);
std::vector<BatchField> fields_of(Columns columns);

}  // namespace forebay
