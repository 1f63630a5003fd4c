#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/operator.h"

namespace forebay {

/// The same operator for single samples, which go through it as columns of one row. Only the fields that it reads do; the
/// others pass by untouched.
std::unique_ptr<RecordOp> record_of_columns(std::unique_ptr<ColumnOp> op, const std::vector<std::string>& reads,
                                            const Schema& before, const Schema& after);

}  // namespace forebay
