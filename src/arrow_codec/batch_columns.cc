#include "arrow_codec/batch_columns.h"

#include <algorithm>

#include <arrow/array.h>
#include <fmt/format.h>

#include "arrow_codec/arrow_status.h"
#include "arrow_codec/columns_writer.h"
#include "arrow_codec/saturating.h"

namespace forebay {

std::vector<int> columns_of(const TablePlan& plan, std::span<const size_t> fields) {
  std::vector<int> columns;
  for (const size_t field : fields) columns.push_back(static_cast<int>(plan.leaves[plan.outputs[field].leaf].column));
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

Result<Columns> batch_columns(const TablePlan& plan, std::span<const size_t> fields, int64_t rows,
                              const std::vector<std::shared_ptr<arrow::Array>>& arrays, bool owned) {
  ColumnsWriter writer(plan, fields, rows);
  std::vector<bool> done(plan.leaves.size(), false);
  for (const size_t field : fields) {
    const size_t leaf = plan.outputs[field].leaf;
    // Several fields (values, lengths, validity) come from one leaf, which is flattened once.
    if (done[leaf]) continue;
    done[leaf] = true;
    const std::shared_ptr<arrow::Array>& array = arrays[plan.leaves[leaf].column];
    const std::string what = fmt::format("the column '{}'", plan.leaves[leaf].name);
    if (array == nullptr) return corrupt(what + " was not read");
    // Takes constant time. Checks of every value happen when the values are flattened.
    if (const auto status = array->Validate(); !status.ok()) return from_arrow(status, what);
    FOREBAY_RETURN_IF_ERROR(writer.add(leaf, {array}, owned));
  }
  return writer.finish();
}

uint64_t field_bytes(const TablePlan& plan, size_t field, int64_t rows, uint64_t column_bytes) {
  const Output& output = plan.outputs[field];
  const Leaf& leaf = plan.leaves[output.leaf];
  const auto count = static_cast<uint64_t>(rows);
  if (output.role == Output::Role::kValid) return count;
  if (leaf.lists == 0) {
    const size_t width = output.role == Output::Role::kValues ? dtype_size(leaf.dtype) : 1;
    return saturating_times(saturating_times(count, static_cast<uint64_t>(leaf.elements())), width);
  }
  // Arrow's offsets take half the size of ours, its bits an eighth, and its dates half.
  const uint64_t grows = leaf.dtype == DType::kBool ? 8 : leaf.strings() ? 1 : 2;
  return saturating_plus(saturating_times(column_bytes, grows), saturating_times(count + 1, sizeof(int64_t)));
}

}  // namespace forebay
