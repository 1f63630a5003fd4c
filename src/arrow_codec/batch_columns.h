#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "arrow_codec/table_plan.h"
#include "base/columns.h"
#include "base/work_memory.h"

namespace forebay {

/// The columns that these fields need, rising.
std::vector<int> columns_of(const TablePlan& plan, std::span<const size_t> fields);

/// These fields of a record batch; `arrays` stand at the places of their columns, others may be null. `owned`: see flatten().
/// Corrupt, naming the column, for arrays that are missing or do not hold together; OutOfBudget where this thread's Allowance is
/// spent. Time is linear in the values of these columns.
Result<Columns> batch_columns(const TablePlan& plan, std::span<const size_t> fields, int64_t rows,
                              const std::vector<std::shared_ptr<arrow::Array>>& arrays, bool owned);

/// Bytes of a field of `rows` rows, whose column takes `column_bytes` as Arrow keeps it: exact for fixed shapes, else a guess.
uint64_t field_bytes(const TablePlan& plan, size_t field, int64_t rows, uint64_t column_bytes);

}  // namespace forebay
