#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/operator.h"

namespace forebay {

/// .cast for many rows at once.
std::unique_ptr<ColumnOp> cast_columns(std::vector<std::string> fields, DType dtype);

}  // namespace forebay
