#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loader/samples/data_plan.h"
#include "loader/samples/plan_changes.h"

namespace forebay {

/// A place in a saved run over a tree of pipelines.
struct SavedPlace {
  Cursor cursor;
  int64_t samples = 0;           ///< of an epoch
  std::vector<SavedPart> parts;  ///< before `cursor`
  PlanChanges changes;
};

/// Returns the place at which a run with other parts, sizes or weights goes on from `saved`, and the
/// changes of its plan. `data` is the plan of that run from its beginning.
///
/// Parts of the same path go on where they were, others begin, and the weights are those of the
/// description. A data set that has more samples ends its pass with those that it had, and all take
/// part from the next one on; one that has fewer begins its next pass. If the epoch is shorter than
/// the position, the next epoch begins. A mix goes on as it is, without a change, where it would
/// have made the same draws from its beginning.
///
/// Unsupported if another source than a mix with weights (a concat, a mix without weights) has other
/// parts or sizes, and is in the middle of its epoch.
Result<SavedPlace> place_with_changed_parts(const Description& description, uint64_t seed, const DataPlan& data,
                                            const SavedPlace& saved);

/// StateMismatch unless the changes are about mixes and data sets of this description, and the user
/// has given the weights of draws that they are about.
Status check_fits(const PlanChanges& changes, const Description& description, const DataPlan& data);

}  // namespace forebay
