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
  /// The parts of its source that choose their samples by themselves (Catalog::chooses_by_itself),
  /// each up to its end. Their steps that choose samples, or order draws, are in these branches
  /// alone, the others in both.
  std::vector<Branch> choosing = {};

  /// "web/en"; empty if the pipeline has no parts.
  std::string name() const;
};

/// Number of the first steps of a branch that make up its source: 1, or all up to the one behind
/// which the fields of parts side by side have their own names.
size_t source_steps(const Description& branch);

/// Returns the branches depth first. A pipeline without parts has one: the description itself. Only
/// the first step may have parts.
std::vector<Branch> branches_of(const Description& description, const Catalog& catalog);

}  // namespace forebay
