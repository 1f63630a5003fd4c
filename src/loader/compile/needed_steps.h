#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/catalog.h"

namespace forebay {

/// Fields that somebody looks at, at one place of a pipeline.
class Wanted {
 public:
  /// Of a schema that user code may add to: whatever there is.
  explicit Wanted(const Schema& schema);
  explicit Wanted(const std::vector<std::string>& names) : names_(names.begin(), names.end()) {}
  bool contains(const std::string& name) const { return all_ || names_.contains(name); }
  bool everything() const { return all_; }
  /// Those that are known by name.
  const std::set<std::string>& names() const { return names_; }

  /// False where nobody looks at what the step makes. Else turns what is wanted behind it into what is wanted before.
  bool step_back(const OpSpec& op, const OpDef& def, const Schema& before);

 private:
  bool choice_back(const FieldUse& use);
  bool names_back(const FieldUse& use);
  bool function_back(const FieldUse& use);
  bool values_back(const FieldUse& use, const Schema& before);

  bool all_ = false;
  std::set<std::string> names_;
};

/// A description of only the steps that are needed, each with only the names that somebody looks at.
struct NeededSteps {
  Description description;
  std::vector<size_t> steps;   ///< of each step, its index in the user's description
  std::vector<Wanted> wanted;  ///< what is looked at behind each step
};

/// Which of the steps [0, end) have a part in the fields `wanted` at the end, where `inference` is that of the whole description.
/// `given`: what the source gives where so much of it is wanted; fields in it that nobody wants may stay in the samples, but never
/// under the name of another.
NeededSteps needed_steps(const Description& description, size_t end, const Inference& inference, Wanted wanted,
                         const Catalog& catalog, const std::function<Schema(const Wanted&)>& given);

}  // namespace forebay
