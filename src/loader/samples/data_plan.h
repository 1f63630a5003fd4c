#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/source.h"
#include "loader/compile/ordering.h"
#include "loader/samples/chosen_samples.h"
#include "pipeline/branches.h"
#include "pipeline/itinerary.h"
#include "plan/node.h"

namespace forebay {

/// A branch of a pipeline over data sets, with the samples that take part and their order.
struct BranchData {
  Branch branch;
  std::shared_ptr<const Source> source = {};  ///< null if only the number of samples is known
  uint64_t seed = 0;                          ///< of its order, random numbers and replacements
  // As in CompileInput::BranchName:
  std::vector<std::string> fields = {};
  bool selects = false;
  ChosenSamples chosen = {};
  Ordering ordering = {};
};

/// The samples of all branches of a pipeline, and the plan that says which of them comes when.
struct DataPlan {
  std::vector<BranchData> branches;
  std::shared_ptr<const PlanNode> plan;

  int64_t size() const { return plan ? plan->size() : 0; }
  /// The last epoch whose positions the plan computes (see PlanNode).
  int64_t last_epoch() const;
  /// Identifies the choices that depend on data that was read.
  std::string version() const;
  std::vector<BranchSamples> samples() const;
};

/// Returns the branches of a description, without their samples. All give their fields in the order
/// of the first. `source` is the open source of the description. The seed of a branch follows from
/// the run's and the names of its parts, so that another part changes nothing in it.
std::vector<BranchData> begin_branches(const Description& description, std::shared_ptr<const Source> source,
                                       uint64_t seed);

/// Decides the order of the chosen samples of each branch, and sets `data->plan`. InvalidArgument
/// for shares that the parts of a mix cannot have.
Status order_branches(const Description& description, uint64_t seed, DataPlan* data);

}  // namespace forebay
