#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/catalog.h"

namespace forebay {

/// The live fields at one place of a pipeline, as in a compiler's removal of dead code: those that
/// a later step or the user reads.
class LiveFields {
 public:
  /// All fields of a schema; unbounded if the schema is open-ended.
  explicit LiveFields(const Schema& schema);
  explicit LiveFields(const std::vector<std::string>& names) : names_(names.begin(), names.end()) {}
  bool contains(const std::string& name) const { return all_ || names_.contains(name); }
  /// True if user code may add fields whose names are not known yet. All of them are live.
  bool is_unbounded() const { return all_; }
  /// The live fields whose names are known.
  const std::set<std::string>& names() const { return names_; }

  /// Turns the fields that are live after a step into those that are live before it. Returns false
  /// if the step can be left out. `before` is the schema before the step.
  bool move_before(const OpSpec& op, const OpDef& def, const Schema& before);

 private:
  bool before_select(const FieldUse& use);
  bool before_rename(const FieldUse& use);
  bool before_function(const OpSpec& op, const FieldUse& use);
  bool before_values(const FieldUse& use, const Schema& before);

  bool all_ = false;
  std::set<std::string> names_;
};

/// A description reduced to the needed steps, each restricted to the fields that are read.
struct NeededSteps {
  Description description;
  std::vector<size_t> steps;     ///< index of each step in the user's description
  std::vector<LiveFields> live;  ///< fields that are read after each step
};

/// Removes the steps of [0, end) that contribute nothing to `live`, the fields that are read after
/// step end - 1. `inference` has the schemas of the whole description. `source_schema(live)`
/// returns the fields that the source gives if only those are read. Fields of the source that are
/// not live may stay in the samples, but never under the name of another field.
///
/// Example: decode(image), decode(mask), select(image) becomes decode(image), select(image).
NeededSteps needed_steps(const Description& description, size_t end, const Inference& inference, LiveFields live,
                         const Catalog& catalog, const std::function<Schema(const LiveFields&)>& source_schema);

}  // namespace forebay
