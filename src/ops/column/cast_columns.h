#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/operator.h"

namespace forebay {

/// .cast for many rows at once. Without `saturates` rows with a number that the type cannot hold are bad.
std::unique_ptr<ColumnOp> cast_columns(std::vector<std::string> fields, DType dtype, bool saturates);

/// What is wrong with such a sample; `what` is said by unfit_text().
Status does_not_fit(std::string_view field, std::string_view what);

}  // namespace forebay
