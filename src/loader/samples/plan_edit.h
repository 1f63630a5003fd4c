#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "loader/samples/data_plan.h"
#include "loader/samples/plan_changes.h"

namespace forebay {

/// A change of the plan that the user asks for while the run goes on.
struct PlanEdit {
  std::string call;   ///< the user's call, for messages: "set_weights()"
  std::string value;  ///< what it gives, in a few words, for messages about ranks that differ
  std::string needs;  ///< why a pipeline without what it is about refuses it
  /// Returns the data with the change from `at` on, which is not before data.changes.since. Its plan
  /// is not made yet. Without a difference, `changes` is data.changes.
  std::function<Result<DataPlan>(const Description& description, const DataPlan& data, const Cursor& at)> edit;
};

/// Gives parts other weights. `weights` has a number for the path of each part of every mix that it
/// is about; mixes of which it has none stay as they are. A schedule of such a mix is over.
/// InvalidArgument for weights that the parts cannot have, naming the mix.
PlanEdit set_part_weights(std::map<std::string, double> weights);

/// Draws the samples of a data set by other weights: one for each sample, by id. `version` is the
/// user's name of them. `part` is the path of the data set; empty if only one is drawn.
/// InvalidArgument for weights that its samples cannot have, and for a data set without draws.
PlanEdit set_sample_weights(std::vector<double> weights, std::string version, std::string part);

}  // namespace forebay
