#include "pipeline/execution_plan.h"

#include <algorithm>

namespace forebay {

namespace {

std::vector<OutputField> common_outputs(const std::vector<std::shared_ptr<const BranchPlan>>& branches) {
  const BranchPlan& first = *branches.front();
  std::vector<OutputField> outputs(first.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) outputs[first.batch_output(i)] = first.outputs[i];
  for (const auto& branch : branches) {
    for (size_t i = 0; i < outputs.size(); ++i)
      outputs[branch->batch_output(i)].may_differ |= branch->outputs[i].may_differ;
  }
  return outputs;
}

std::shared_ptr<const std::vector<std::string>> names_of_parts(
    const std::vector<std::shared_ptr<const BranchPlan>>& branches) {
  if (branches.size() == 1) return nullptr;
  std::vector<std::string> names;
  for (const auto& branch : branches) names.push_back(branch->name);
  return std::make_shared<const std::vector<std::string>>(std::move(names));
}

}  // namespace

ExecutionPlan::ExecutionPlan(std::shared_ptr<const BranchPlan> only)
    : ExecutionPlan(std::vector<std::shared_ptr<const BranchPlan>>(1, std::move(only))) {}

ExecutionPlan::ExecutionPlan(std::vector<std::shared_ptr<const BranchPlan>> branches,
                             std::vector<BatchStage> batch_stages) {
  std::vector<OutputField> outputs = common_outputs(branches);
  auto part_names = names_of_parts(branches);
  shared_ = std::make_shared<const Shared>(
      Shared{std::move(branches), std::move(outputs), std::move(batch_stages), std::move(part_names)});
}

bool ExecutionPlan::open_ended() const {
  return std::ranges::any_of(branches(), [](const auto& branch) { return branch->output_schema.open_ended; });
}

}  // namespace forebay
