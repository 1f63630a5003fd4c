#pragma once

#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "arrow_codec/leaf_output.h"
#include "arrow_codec/table_plan.h"
#include "base/columns.h"

namespace forebay {

/// Builds columns from Arrow arrays, one leaf after the other. `plan` must outlive it. Memory comes
/// from the pool and counts against the thread's Allowance. One thread.
class ColumnsWriter {
 public:
  ColumnsWriter(const TablePlan& plan, std::span<const size_t> fields, int64_t rows);

  /// Adds the column of the leaf TablePlan::leaves[leaf_index] (see flatten()), which must have
  /// `rows` rows in all. Must be called once per leaf. Corrupt, naming the column, if the number of rows differs or the arrays
  /// contradict the plan.
  Status add(size_t leaf_index, const std::vector<std::shared_ptr<arrow::Array>>& chunks, bool owned);
  /// The same for a leaf of INT96 timestamps, which was read both as seconds and as nanoseconds.
  Status add_int96(size_t leaf_index, const std::vector<std::shared_ptr<arrow::Array>>& seconds,
                   const std::vector<std::shared_ptr<arrow::Array>>& nanoseconds);
  /// Returns the columns. Must be called after all leaves of the fields were added.
  Result<Columns> finish();

 private:
  Status add_flat(size_t leaf_index, const FlatLeaf& flat);
  Status check_rows(const std::vector<std::shared_ptr<arrow::Array>>& chunks) const;

  const TablePlan& plan_;
  std::vector<size_t> fields_;
  Columns columns_;
  BadRowCollector bad_;
};

}  // namespace forebay
