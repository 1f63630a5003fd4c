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

/// The columns that these fields need, ascending.
std::vector<int> columns_of(const TablePlan& plan, std::span<const size_t> fields);

/// Converts these fields of a record batch. `arrays` is indexed by column; entries of other columns
/// may be null. `owned` is as in flatten(). Corrupt, naming the column, for arrays that are missing
/// or inconsistent; OutOfBudget if this thread's Allowance is spent. Takes time linear in the
/// values of these columns.
Result<Columns> batch_columns(const TablePlan& plan, std::span<const size_t> fields, int64_t rows,
                              const std::vector<std::shared_ptr<arrow::Array>>& arrays, bool owned);

/// Size of a field of `rows` rows whose column takes `column_bytes` in Arrow's format. It is exact
/// for fixed shapes and otherwise an estimate.
uint64_t field_bytes(const TablePlan& plan, size_t field, int64_t rows, uint64_t column_bytes);

}  // namespace forebay
