#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pipeline/description.h"
#include "study/changed.h"

namespace forebay {

/// One data set of a pipeline with its way to the batch, as a pipeline that can be opened by itself.
/// A pipeline over one data set, or over data sets side by side, has one.
struct PartPipeline {
  std::string name;   ///< "web/en"; empty if the pipeline has one data set
  size_t source = 0;  ///< number of the data set in the whole tree
  /// The steps of the part and of the pipelines around it, and the places of the whole pipeline's
  /// steps in it. Repetitions of several parts together are left out.
  Changed alone;
  /// Names of the parts of its zip that have draws of their own: each pass joins other samples, so
  /// what follows the zip hardly comes again.
  std::vector<std::string> drawn = {};

  bool has(size_t number) const { return alone.steps.places[number] != kGone; }
};

/// Returns the data sets of a pipeline, depth first as branches_of() does.
std::vector<PartPipeline> part_pipelines(const Description& whole);

/// A step of a tree of pipelines.
struct NumberedStep {
  const OpSpec* step = nullptr;
  std::string part;     ///< the part that it stands in; empty for steps of the whole pipeline
  bool in_zip = false;  ///< stands in a part of a zip, which is no data set by itself
  bool is_source = false;

  std::string name() const { return part.empty() ? step->name : part + "/" + step->name; }
};
/// Returns all steps by their number in the tree. They live as long as `whole`.
std::vector<NumberedStep> numbered_steps(const Description& whole);

/// Returns the pipeline with mixed parts in place of parts that follow each other, for measurements
/// of an epoch by its beginning. Steps keep their numbers.
Description with_mixed_parts(const Description& whole);

}  // namespace forebay
