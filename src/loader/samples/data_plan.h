#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/source.h"
#include "loader/compile/ordering.h"
#include "loader/samples/chosen_samples.h"
#include "loader/samples/plan_changes.h"
#include "pipeline/branches.h"
#include "pipeline/itinerary.h"
#include "plan/node.h"

namespace forebay {

struct OpSpec;

/// Weights by which a data set is drawn in place of those that the pipeline describes.
struct GivenWeights {
  std::string version;  ///< the user's name of them
  std::string hash;     ///< of the weights of all samples of the data set
  WeightedDraws draws;  ///< of a pass
};

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
  std::shared_ptr<const GivenWeights> given = nullptr;  ///< the last ones that the user gave
  std::vector<BranchData> choosing = {};                ///< as in Branch::choosing
  // Of a part of a zip with draws of its own:
  std::shared_ptr<const Order> redrawn = nullptr;  ///< with changes of its draws; null without any
  int64_t stride = 1;                              ///< in the ids of the branch; see JoinedPart

  /// True if it is a part of a zip with draws of its own.
  bool has_own_draws() const;
  /// True if it has such parts.
  bool draws_partners() const { return std::ranges::any_of(choosing, &BranchData::has_own_draws); }
};

/// Draws of an epoch of a part.
struct PartSize {
  int64_t source = 0;  ///< of its source
  int64_t whole = 0;   ///< of the part, whose steps may repeat those
};

/// The samples of all branches of a pipeline, and the plan that says which of them comes when.
struct DataPlan {
  std::vector<BranchData> branches;
  std::shared_ptr<const PlanNode> plan;
  /// By path; those of the whole pipeline are at "". No change of the plan changes them.
  std::map<std::string, PartSize> sizes = {};
  PlanChanges changes = {};  ///< of the plan since the run began

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

/// Joins the parts of a zip by the samples that its parts have chosen by themselves, if there are
/// such parts: sets `branch->source`. Errors of the join, which opening the zip has left to this.
Status join_chosen_parts(BranchData* branch);

/// Decides the order of the chosen samples of each branch, and sets `data->plan`. InvalidArgument
/// for shares that the parts of a mix cannot have.
Status order_branches(const Description& description, uint64_t seed, DataPlan* data);

/// A pipeline in a tree of pipelines: all of it, or a part.
struct PlannedPart {
  const Description& description;
  std::vector<std::string> path = {};  ///< empty for all of it
  size_t first_leaf = 0;               ///< number of its first branch
};
/// The plan of a part with changes, which have to fit to it. `data` is of the whole tree.
Result<std::unique_ptr<PlanNode>> plan_of(const PlannedPart& part, uint64_t seed, const DataPlan& data,
                                          const PlanChanges& changes);
/// Finds the order of the draws that parts of zips have of their own, with the changes of `data`.
Status redraw_partners(DataPlan* data);
/// Returns the data set of that path, which is a branch or a part of a zip with draws of its own;
/// null if there is none. `branch`: the number of the branch, if it is not null.
BranchData* find_data_set(DataPlan& data, const std::string& path, size_t* branch = nullptr);
const BranchData* find_data_set(const DataPlan& data, const std::string& path);

/// The shares of a mix, from the sizes of its parts; no stages if each sample comes once.
MixOptions shares_of(const OpSpec& mix, const std::vector<int64_t>& part_sizes);

}  // namespace forebay
