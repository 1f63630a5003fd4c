#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pipeline/row_work.h"

namespace forebay {

/// Copies rows of one block directly from its chunks into a batch, for plans without operators on
/// single rows. RowWork creates one for each call, on the compute thread that runs it.
class RowGather {
 public:
  RowGather(const RowWork& work, const ExecutionPlan& plan, BatchJob& batch, const RowInput& rows,
            const RowPlacement& at)
      : work_(work), plan_(plan), batch_(batch), rows_(rows), at_(at) {}

  RowResult run(WorkMemory& memory) &&;

 private:
  void locate();
  std::optional<RowInBlock> locate_row(int64_t row);
  void copy_packed();
  void point_to_lists();
  Status copy_lists(WorkMemory& memory);
  int64_t count() const { return rows_.end - rows_.begin; }

  const RowWork& work_;
  const ExecutionPlan& plan_;
  BatchJob& batch_;
  const RowInput& rows_;
  const RowPlacement& at_;
  std::vector<RowInBlock> places_;
  std::vector<uint32_t> numbers_;  // rows of the batch; empty if they are consecutive
  RowResult result_;
};

}  // namespace forebay
