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
  RowGather(const RowWork& work, const BranchPlan& plan, BatchJob& batch, const RowInput& input,
            const RowPlacement& placement)
      : work_(work), plan_(plan), batch_(batch), input_(input), placement_(placement) {}

  /// Copies the rows, or applies the policy to bad ones. Called once.
  RowResult run(WorkMemory& memory) &&;

 private:
  void find_rows();
  std::optional<RowInBlock> find_row(int64_t row);
  void copy_packed();
  void refer_to_unpacked();
  Status copy_unpacked(WorkMemory& memory);
  void set_error(Status status, const WorkMemory& memory);
  int64_t count() const { return input_.end - input_.begin; }

  const RowWork& work_;
  const BranchPlan& plan_;
  BatchJob& batch_;
  const RowInput& input_;
  const RowPlacement& placement_;
  std::vector<RowInBlock> sources_;     // rows to copy, in the order of their destinations
  std::vector<uint32_t> destinations_;  // their rows in the batch; empty if these are consecutive
  RowResult result_;
};

}  // namespace forebay
