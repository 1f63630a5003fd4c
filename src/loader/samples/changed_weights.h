#pragma once

#include <map>
#include <string>

#include "loader/samples/data_plan.h"
#include "loader/samples/plan_changes.h"

namespace forebay {

/// Returns the changes of the plan with which parts have these weights from `at` on, which is not
/// before data.changes.since. `weights` has a number for the path of each part of every mix that it
/// is about; mixes of which it has none stay as they are. If all these parts have such weights
/// already and keep them, the changes are data.changes.
///
/// A schedule of such a mix is over. InvalidArgument for weights that the parts cannot have, naming
/// the mix.
Result<PlanChanges> with_weights(const Description& description, const DataPlan& data,
                                 const std::map<std::string, double>& weights, const Cursor& at);

}  // namespace forebay
