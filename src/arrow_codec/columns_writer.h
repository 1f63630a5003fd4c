#pragma once

#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "arrow_codec/flat_leaf.h"
#include "arrow_codec/table_plan.h"
#include "base/columns.h"

namespace forebay {

/// Makes columns of Arrow's arrays, one leaf after the other.
/// One thread. `plan` must outlive it. Memory comes from the pool and counts against the thread's Allowance.
class ColumnsWriter {
 public:
  ColumnsWriter(const TablePlan& plan, std::span<const size_t> fields, int64_t rows);

  /// The leaf's column (see flatten()), `rows` rows in all.
  /// Each leaf once. Corrupt, with the column's name, where the rows are not as many as were announced or the arrays contradict the plan.
  Status add(size_t leaf, const std::vector<std::shared_ptr<arrow::Array>>& chunks, bool owned);
  /// The same of a leaf of INT96 timestamps, which was read as seconds and as nanoseconds.
  Status add_int96(size_t leaf, const std::vector<std::shared_ptr<arrow::Array>>& seconds,
                   const std::vector<std::shared_ptr<arrow::Array>>& nanoseconds);
  /// Once all leaves of the fields were added.
  Result<Columns> finish();

 private:
  Status add_flat(size_t leaf, const FlatLeaf& flat);
  Status check_rows(const std::vector<std::shared_ptr<arrow::Array>>& chunks) const;

  const TablePlan& plan_;
  std::vector<size_t> fields_;
  Columns columns_;
  BadRows bad_;
};

}  // namespace forebay
