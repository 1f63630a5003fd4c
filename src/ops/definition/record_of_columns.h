#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/column_op.h"
#include "pipeline/record_op.h"

namespace forebay {

/// Adapts a column operator to single samples, which pass through it as columns of one row. Only
/// the fields that the operator reads are converted; the others stay untouched.
std::unique_ptr<RecordOp> record_of_columns(std::unique_ptr<ColumnOp> op, const std::vector<std::string>& reads,
                                            const Schema& before, const Schema& after);

}  // namespace forebay
