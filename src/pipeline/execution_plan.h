#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/batch_stage.h"
#include "pipeline/branch_plan.h"

namespace forebay {

/// A compiled pipeline, as a Runner executes it: one plan for each branch, which all make the same
/// fields. A pipeline over one data set has one branch. Cheap to copy; the copies share the
/// branches.
class ExecutionPlan {
 public:
  /// The plan of a pipeline with one branch. Not explicit: such a plan is as good as its branch.
  ExecutionPlan(std::shared_ptr<const BranchPlan> only);
  ExecutionPlan(std::shared_ptr<BranchPlan> only) : ExecutionPlan(std::shared_ptr<const BranchPlan>(std::move(only))) {}
  /// `branches`: at least one, by leaf of the plan. Their outputs have the same fields.
  /// `batch_stages`: user code for whole batches, in their order.
  explicit ExecutionPlan(std::vector<std::shared_ptr<const BranchPlan>> branches,
                         std::vector<BatchStage> batch_stages = {});

  size_t size() const { return shared_->branches.size(); }
  const BranchPlan& branch(size_t index) const { return *shared_->branches[index]; }
  const std::vector<std::shared_ptr<const BranchPlan>>& branches() const { return shared_->branches; }
  /// The first branch, for everything that is the same in all branches.
  const BranchPlan& first() const { return *shared_->branches.front(); }

  /// The fields of the finished batch. A field may differ (OutputField::may_differ) if it may in
  /// any branch. Only the branches know which fields are gathered from the source.
  const std::vector<OutputField>& outputs() const { return shared_->outputs; }
  /// Bytes of one batch of `rows` rows in its fixed-shape fields.
  uint64_t batch_bytes(int64_t rows) const { return first().batch_bytes(rows); }
  /// Whether user code may add fields that no step names.
  bool open_ended() const;
  /// User code that gets each batch when all of its rows are done.
  const std::vector<BatchStage>& batch_stages() const { return shared_->batch_stages; }
  /// Names of the branches. Null if there is only one.
  const std::shared_ptr<const std::vector<std::string>>& part_names() const { return shared_->part_names; }
  /// Turns a trace of the run on and off.
  TraceSwitch& trace() const { return *first().trace; }

 private:
  struct Shared {
    std::vector<std::shared_ptr<const BranchPlan>> branches;
    std::vector<OutputField> outputs;
    std::vector<BatchStage> batch_stages;
    std::shared_ptr<const std::vector<std::string>> part_names;
  };
  std::shared_ptr<const Shared> shared_;
};

}  // namespace forebay
