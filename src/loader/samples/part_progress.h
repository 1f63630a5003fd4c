#pragma once

#include <map>
#include <string>
#include <vector>

#include "loader/samples/data_plan.h"
#include "loader/samples/plan_changes.h"

namespace forebay {

/// Returns the parts that lie in `whole`, at any depth, each before those that lie in it, with the
/// draws that they have made before `at`, a position of `plan`. That is the plan of `whole` after
/// `changes`.
std::vector<SavedPart> parts_before(const PlannedPart& whole, const PlanNode& plan, const Order::Use& at,
                                    const DataPlan& data, const PlanChanges& changes);

/// Returns the draws of the parts of the source at `path` among `parts`, in its order; 0 for those
/// that are not there.
std::vector<int64_t> drawn_by_parts(const OpSpec& source, const std::string& path, const std::vector<SavedPart>& parts);

/// Adds all sources of a description that have parts, by path.
void find_sources(const Description& description, const std::string& path, std::map<std::string, const OpSpec*>* found);

/// The part with that path, or null.
const SavedPart* find_part(const std::vector<SavedPart>& parts, const std::string& path);
/// "web/en" of "web" and "en"; "en" of "" and "en".
std::string path_of_part(const std::string& path, const std::string& name);

}  // namespace forebay
