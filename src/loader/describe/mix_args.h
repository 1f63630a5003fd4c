#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/source.h"
#include "forebay/pipeline.h"
#include "loader/describe/open_source.h"
#include "pipeline/operator.h"

// The sources that are made of other pipelines.

namespace forebay {

/// Arguments of `mix`, apart from its parts.
std::vector<ArgDef> mix_arg_defs();
/// Adds the problems of shares and lengths. Those of the parts are found by tree_rules.h.
void check_mix(const OpSpec& source, std::vector<Problem>& found);
/// The problems of weights for a mix, an object of numbers by part.
std::vector<Problem> weight_problems(const OpSpec& source, const Json& weights);
/// The arguments as a description holds them. Weights are in the order of the parts.
Json mix_args(const std::vector<std::string>& part_names, const MixSourceOptions& options);

/// Opens the source of each part. The result is a PartedSource.
Result<std::shared_ptr<const Source>> open_parts(const OpSpec& source, const OpenSourceOptions& options);

}  // namespace forebay
