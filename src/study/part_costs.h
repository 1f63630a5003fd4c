#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "forebay/diagnosis.h"
#include "forebay/loader.h"
#include "pipeline/json_fwd.h"

namespace forebay {

/// Returns each part's share of the samples in the first rows of an epoch, of which it looks at
/// 65,536: a pure function of the plan. The loader is prepared.
Result<std::vector<double>> shares_of_parts(const Loader& loader, size_t parts);

/// Computes the shares of the time, and sorts the parts, the costliest first. Those that were not
/// measured come last.
void rank_parts(std::vector<PartCost>& parts);

/// Returns the samples a second of a pipeline whose parts have these shares and rates: times add up,
/// so it is the weighted harmonic mean.
double mixed_rate_of(const std::vector<PartCost>& parts);

/// Returns a JSON object, described in docs/reference/diagnosis.md.
Json to_json(const PartCost& part);
/// Returns some lines for people, one for each part that takes time. Empty without parts.
std::string parts_text(const std::vector<PartCost>& parts);

}  // namespace forebay
