#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/operator.h"

namespace forebay {

/// True if such a step says which samples there are.
constexpr bool leaves_out_samples(OpEffect effect) {
  return effect == OpEffect::kTaking || effect == OpEffect::kKeys || effect == OpEffect::kSelection;
}
/// True if such a step says which samples come, and in which order.
constexpr bool chooses_samples(OpEffect effect) {
  return leaves_out_samples(effect) || effect == OpEffect::kOrder || effect == OpEffect::kDrawing;
}

/// All operators, by name. The code that composes an engine creates it; operators do not register
/// themselves. Immutable.
class Catalog {
 public:
  /// `joining`: names of the sources whose parts lie side by side.
  explicit Catalog(std::vector<OpDef> ops, std::set<std::string, std::less<>> joining = {});
  /// Null if there is no such operator.
  const OpDef* find(std::string_view name) const;
  /// False also for steps that are no operators: a source, or an unknown name from a file.
  bool has_role(const OpSpec& op, OpRole role) const;
  /// Likewise.
  bool has_effect(const OpSpec& op, OpEffect effect) const;
  /// True if a sample of the source has the fields of all its parts, so that they form one branch.
  bool joins_parts(const OpSpec& source) const { return joining_.contains(source.name); }
  /// True if a part of such a source has draws of its own: another part than the first, with a step
  /// that draws. The other parts follow the order of the first.
  bool has_own_draws(const OpSpec& source, const PipelinePart& part) const;
  /// True if such a part says by itself which of its samples there are.
  bool chooses_by_itself(const OpSpec& source, const PipelinePart& part) const;
  /// True if the source is one branch: a data set, or parts that lie side by side.
  bool is_one_branch(const OpSpec& source) const { return source.parts.empty() || joins_parts(source); }
  const std::map<std::string, OpDef, std::less<>>& ops() const { return ops_; }
  /// The operator whose name is nearest to a mistyped one. Empty if none is near.
  std::string nearest(std::string_view name) const;

 private:
  std::map<std::string, OpDef, std::less<>> ops_;
  std::set<std::string, std::less<>> joining_;
};

/// The schemas between the steps of a pipeline, and all its problems.
struct Inference {
  /// schemas[i] is the schema after step i.
  std::vector<Schema> schemas;
  std::vector<Problem> problems;
};

enum class Rules : uint8_t {
  kAll,
  kFields,  ///< without rules on the order of steps; for a part of a description that was checked
};

/// Computes the schema after each step. Continues after a problem, so that all are found at once.
Inference infer(const Description& description, const Schema& source, const Catalog& catalog,
                Rules rules = Rules::kAll);

}  // namespace forebay
