#include "pipeline/row_values.h"

#include <algorithm>

namespace forebay {

RowValues::RowValues(const ExecutionPlan& plan, size_t rows)
    : values_(plan.outputs().size()), references_(plan.outputs().size()) {
  // All branches gather rows of fields without a shape, or none (BranchPlan::chunks).
  const bool refers_to_chunks = plan.first().chunks && plan.first().chunks->gathers_rows;
  for (size_t i = 0; i < plan.outputs().size(); ++i) {
    if (plan.outputs()[i].row_bytes && !plan.outputs()[i].may_differ) continue;
    outputs_.push_back(i);
    if (refers_to_chunks) {
      references_[i].resize(rows);
    } else {
      values_[i].resize(rows);
    }
  }
  if (plan.open_ended()) extras_.resize(rows);
}

uint64_t RowValues::bytes(int64_t row) const {
  uint64_t bytes = 0;
  for (size_t i : outputs_) {
    if (!values_[i].empty()) bytes += values_[i][static_cast<size_t>(row)].nbytes();
  }
  if (!extras_.empty()) {
    for (const auto& [name, value] : extras_[static_cast<size_t>(row)]) bytes += value.nbytes();
  }
  return bytes;
}

void RowValues::drop(int64_t row) {
  const auto index = static_cast<size_t>(row);
  for (size_t i : outputs_) {
    if (!references_[i].empty()) references_[i][index] = RowBytes();
    if (!values_[i].empty()) values_[i][index] = Value();
  }
  if (!extras_.empty()) extras_[index].clear();
}

void RowValues::drop_all() {
  for (std::vector<RowBytes>& references : references_) std::fill(references.begin(), references.end(), RowBytes());
  for (std::vector<Value>& values : values_) std::generate(values.begin(), values.end(), [] { return Value(); });
  for (Extras& extras : extras_) extras.clear();
}

}  // namespace forebay
