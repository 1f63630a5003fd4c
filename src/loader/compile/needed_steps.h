#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/catalog.h"

namespace forebay {

/// Set of the fields that later steps or the user read, at one place of a pipeline.
class Wanted {
 public:
  /// All fields of a schema. If user code may add fields (open-ended), all fields there may be.
  explicit Wanted(const Schema& schema);
  explicit Wanted(const std::vector<std::string>& names) : names_(names.begin(), names.end()) {}
  bool contains(const std::string& name) const { return all_ || names_.contains(name); }
  bool everything() const { return all_; }
  /// The wanted fields whose names are known.
  const std::set<std::string>& names() const { return names_; }

  /// Changes the set from the fields that are wanted after the step to those that are wanted before
  /// it. Returns false if no later step reads what the step makes.
  bool step_back(const OpSpec& op, const OpDef& def, const Schema& before);

 private:
  bool choice_back(const FieldUse& use);
  bool names_back(const FieldUse& use);
  bool function_back(const FieldUse& use);
  bool values_back(const FieldUse& use, const Schema& before);

  bool all_ = false;
  std::set<std::string> names_;
};

/// A description reduced to the needed steps, each restricted to the fields that are read.
struct NeededSteps {
  Description description;
  std::vector<size_t> steps;   ///< index of each step in the user's description
  std::vector<Wanted> wanted;  ///< fields that are read after each step
};

/// Returns those of the steps [0, end) that contribute to the fields `wanted` after the last one.
/// `inference` is that of the whole description. `given` returns the source's fields, given the set
/// that is wanted of it. Unwanted source fields may stay in the samples, but never under
/// the name of another field.
NeededSteps needed_steps(const Description& description, size_t end, const Inference& inference, Wanted wanted,
                         const Catalog& catalog, const std::function<Schema(const Wanted&)>& given);

}  // namespace forebay
