#include "pipeline/user_fields.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/columns.h"
#include "pipeline/part_fields.h"

namespace forebay {

namespace {

Field any_field(const std::string& name, bool ragged = false) {
  Field field;
  field.name = name;
  field.kind = FieldKind::kAny;
  field.ragged = ragged;
  return field;
}

// Follows the fields of a step through the later steps, and completes the schema after that step by
// the fields that these use.
class FieldFollower {
 public:
  // `made`: the schema after the step. `changes_types`: the step may change fields that pass
  // through it.
  FieldFollower(Schema& made, const OpSpec& by, bool changes_types)
      : made_(made), current_(made), may_have_more_(made.open_ended), part_(by.part), changes_types_(changes_types) {
    for (const Field& field : made) origin_[field.name] = field.name;
  }

  // Returns false if the fields after the step are for that step to give.
  bool step(const OpSpec& op, const OpDef& def) {
    follow(op, def);
    if (def.role != OpRole::kFunction) return true;
    // Another part of a zip goes on without the fields of this one.
    ended_.insert(op.part);
    return !op.part.empty() && op.part != part_;
  }

 private:
  void follow(const OpSpec& op, const OpDef& def) {
    const FieldUse use = def.used(op, current_);
    for (const std::string& name : use.reads) expect_field(name, use.or_else, /*optional=*/false);
    for (const std::string& name : use.optional) expect_field(name, "", /*optional=*/def.effect != OpEffect::kBatching);
    if (changes_types_ && (def.role == OpRole::kValues || def.effect == OpEffect::kBatching)) {
      for (const auto* names : {&use.reads, &use.optional}) {
        for (const std::string& name : *names) forget_type(name);
      }
    }
    if (def.role == OpRole::kChoice && op.part == part_) may_have_more_ = false;
    follow_names(def.role, use);
    std::vector<Problem> reported_elsewhere;
    def.follow(op, current_, reported_elsewhere);
  }

  // True if a function of another part gives the field.
  bool is_of_other_function(const std::string& name) const {
    return std::ranges::any_of(ended_, [&](const std::string& part) { return name_in_part(part, name).has_value(); });
  }

  // Adds the field to both schemas if it is in neither and the step may have made it.
  void expect_field(const std::string& name, const std::string& or_else, bool optional) {
    if (!may_have_more_ || name.empty() || current_.find(name)) return;
    // A step in between has removed the field, so only its substitute can be meant.
    if (made_.find(name)) return expect_field(or_else, "", optional);
    if (is_of_other_function(name)) return current_.push_back(any_field(name));
    Field field = any_field(name);
    field.has_replacement = !or_else.empty();
    field.optional = optional;
    made_.push_back(field);
    current_.push_back(std::move(field));
    origin_[name] = name;
  }

  // Makes the type of a field unknown, here and at the step that made it.
  void forget_type(const std::string& name) {
    const auto origin = origin_.find(name);
    const auto index = current_.find(name);
    if (origin == origin_.end() || !index) return;
    Field& field = current_[*index];
    if (field.kind == FieldKind::kAny || (field.image && field.kind == FieldKind::kTensor)) return;
    const bool ragged = is_ragged(field);
    field = any_field(name, ragged);
    made_[*made_.find(origin->second)] = any_field(origin->second, ragged);
  }

  // Updates the origins of fields that the operator renames or makes.
  void follow_names(OpRole role, const FieldUse& use) {
    std::map<std::string, std::string> before = origin_;
    if (role == OpRole::kNames) {
      for (const std::string& name : use.reads) origin_.erase(name);
      for (size_t i = 0; i < use.makes.size(); ++i) {
        if (before.contains(use.reads[i])) origin_[use.makes[i]] = before[use.reads[i]];
      }
    } else if (role == OpRole::kValues) {
      for (const std::string& name : use.makes) {
        bool changed = false;
        for (const std::string& read : use.reads) changed |= read == name;
        if (!changed) origin_.erase(name);
      }
    }
  }

  Schema& made_;
  Schema current_;
  // For each current field that the step has made, the name that the step gave it.
  std::map<std::string, std::string> origin_;
  bool may_have_more_;  // user code may have returned further fields
  const std::string part_;
  std::set<std::string> ended_;  // other parts, behind a function of theirs
  const bool changes_types_;
};

}  // namespace

void expect_user_fields(const std::vector<OpSpec>& steps, size_t made_by, const Catalog& catalog, Schema& schema) {
  FieldFollower follower(schema, steps[made_by], /*changes_types=*/made_by > 0);
  for (size_t i = made_by + 1; i < steps.size(); ++i) {
    const OpDef* def = catalog.find(steps[i].name);
    if (def == nullptr) continue;
    if (!follower.step(steps[i], *def)) return;
  }
}

}  // namespace forebay
