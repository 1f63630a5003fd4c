#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>

#include "arrow_codec/table_plan.h"
#include "base/columns.h"

namespace forebay {

/// Makes columns of Arrow's arrays, one leaf after the other.
class ColumnsWriter {
 public:
  ColumnsWriter(const TablePlan& plan, std::span<const size_t> fields, int64_t rows);

  /// The leaf's column (see flatten()), `rows` rows in all.
  Status add(size_t leaf, const std::vector<std::shared_ptr<arrow::Array>>& chunks, bool owned);
  /// Once all leaves of the fields were added.
  Result<Columns> finish();

 private:
  const TablePlan& plan_;
  std::vector<size_t> fields_;
  Columns columns_;
  std::map<int64_t, Status> bad_;
};

}  // namespace forebay
