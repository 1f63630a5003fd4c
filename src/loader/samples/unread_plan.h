#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "loader/samples/data_plan.h"

namespace forebay {

/// Returns the first step that decides, perhaps by values that are read, how often a sample comes or
/// in which batch; null if there is none. Filters are not such steps.
const OpSpec* deciding_step(const Description& description);
/// The same, or else a filter in a part of a zip: which samples are joined there follows from it.
const OpSpec* deciding_step_or_filter_of_part(const Description& description);

/// Returns the plan of a pipeline as far as it is known without reading rows: samples that a
/// `.filter()` drops are still included, and a `.pack()` is ignored. `source` is its open source. If that is null, `sizes` has
/// the number of samples of each data set, by the name of its part; "" for a pipeline over one.
///
/// InvalidArgument for other names than those of the parts. Unsupported with a deciding_step();
/// `what` needs the plan: "--hosts".
Result<DataPlan> unread_plan(const Description& description, std::shared_ptr<const Source> source,
                             const std::map<std::string, int64_t>& sizes, uint64_t seed, std::string_view what);

/// Chooses the samples of a branch as far as that is possible without reading rows. `size` is their
/// number if the source is null. Unsupported for a `.filter()` in a part of a zip, without which
/// nothing tells which samples belong together.
Status choose_unread(BranchData* branch, int64_t size, std::string_view what);

/// Returns the share of each branch in the first 65,536 positions of a plan.
std::vector<double> shares_of_branches(const PlanNode& plan);

}  // namespace forebay
