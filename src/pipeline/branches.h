#pragma once

#include <string>
#include <vector>

#include "pipeline/description.h"

namespace forebay {

class Catalog;

/// A branch of a pipeline: the way from one of its sources to the batch.
struct Branch {
  /// Names of the parts that it lies in, outermost first; empty if the pipeline has no parts.
  std::vector<std::string> path;
  /// Its source, the steps of its part, then those of the enclosing pipelines. If the source has
  /// parts that lie side by side (Catalog::joins_parts), their steps follow it. Left out are steps
  /// of enclosing pipelines that repeat (OpEffect::kRepeating): they are about the order of all
  /// parts. A source with the argument `field` adds a step that makes this field (part_number).
  Description description;
  /// For each of its steps, the number in the whole tree. A step that a source with parts adds has
  /// the number of that source.
  std::vector<size_t> numbers;

  /// "web/en"; empty if the pipeline has no parts.
  std::string name() const;
};

/// Returns the branches depth first. A pipeline without parts has one: the description itself. Only
/// the first step may have parts.
std::vector<Branch> branches_of(const Description& description, const Catalog& catalog);

}  // namespace forebay
