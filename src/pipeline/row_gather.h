#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pipeline/row_work.h"

namespace forebay {

/// Rows of one block straight out of its chunks into a batch, where no operator looks at single rows. Made for one call.
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
  std::vector<uint32_t> numbers_;  // of the rows in the batch; empty: from rows_.begin on
  RowResult result_;
};

}  // namespace forebay
