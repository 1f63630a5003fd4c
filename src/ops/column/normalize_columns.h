#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/column_op.h"

namespace forebay {

/// .normalize for many rows at once. `mean` and `std` have one number for all fields, or one per
/// field.
std::unique_ptr<ColumnOp> normalize_columns(std::vector<std::string> fields, std::vector<double> mean,
                                            std::vector<double> std);

}  // namespace forebay
