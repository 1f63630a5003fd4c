#pragma once

#include <vector>

#include "forebay/result.h"
#include "loader/samples/plan_changes.h"
#include "pipeline/json_fwd.h"

namespace forebay {

// The JSON of the parts of a saved run, and of the changes of its plan, in a state. These are lists,
// which checkpoints of frameworks store as a whole: other parts are then no other entries.

/// [["web/en", samples, drawn], …]
Json json_of(const std::vector<SavedPart>& parts);
/// [] without changes; otherwise the place since which they hold, the mixes, the data sets that grew,
/// and, if there are any, those that are drawn by other weights: [[epoch, position, step], [["web",
/// from, [drawn, …], [weight, …]], …], [["web/en", pass, samples], …], [["web/de", from, version,
/// hash], …]]
Json json_of(const PlanChanges& changes);
/// InvalidArgument for anything else. The JSON is not trusted.
Result<std::vector<SavedPart>> parts_of(const Json& json);
Result<PlanChanges> changes_of(const Json& json);

}  // namespace forebay
