#include "pipeline/user_fields.h"

#include <map>
#include <string>
#include <utility>

#include "base/columns.h"

namespace forebay {

namespace {

Field any_field(const std::string& name, bool ragged = false) {
  Field field;
  field.name = name;
  field.kind = FieldKind::kAny;
  field.ragged = ragged;
  return field;
}

/// Follows the fields from the step that made them through the later steps.
class FieldFollower {
 public:
  FieldFollower(Schema& made, bool any_may_come_back)
      : made_(made), now_(made), open_(made.open_ended), retypes_(any_may_come_back) {
    for (const Field& field : made) origin_[field.name] = field.name;
  }

  void step(const OpSpec& op, const OpDef& def) {
    const FieldUse use = def.used(op, now_);
    for (const std::string& name : use.reads) expect(name, use.or_else, false);
    for (const std::string& name : use.optional) expect(name, "", def.effect != OpEffect::kBatching);
    if (retypes_ && (def.role == OpRole::kValues || def.effect == OpEffect::kBatching)) {
      for (const auto* names : {&use.reads, &use.optional}) {
        for (const std::string& name : *names) forget_type(name);
      }
    }
    if (def.role == OpRole::kChoice) open_ = false;
    follow_names(def.role, use);
    std::vector<Problem> reported_elsewhere;
    if (def.infer) def.infer(op, now_, reported_elsewhere);
  }

 private:
  void expect(const std::string& name, const std::string& or_else, bool optional) {
    if (!open_ || name.empty() || now_.find(name)) return;
    // A step in between has removed the field, so only its substitute can be meant.
    if (made_.find(name)) return expect(or_else, "", optional);
    Field field = any_field(name);
    field.has_replacement = !or_else.empty();
    field.optional = optional;
    made_.push_back(field);
    now_.push_back(std::move(field));
    origin_[name] = name;
  }

  void forget_type(const std::string& name) {
    const auto origin = origin_.find(name);
    const auto here = now_.find(name);
    if (origin == origin_.end() || !here) return;
    Field& field = now_[*here];
    if (field.kind == FieldKind::kAny || (field.image && field.kind == FieldKind::kTensor)) return;
    const bool ragged = is_ragged(field);
    field = any_field(name, ragged);
    // The type is removed here and at the step that made the field.
    made_[*made_.find(origin->second)] = any_field(origin->second, ragged);
  }

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
  Schema now_;
  // Names of the current fields that the step has made, and the names that it gave them.
  std::map<std::string, std::string> origin_;
  bool open_;  // user code may return further fields
  const bool retypes_;
};

}  // namespace

void expect_user_fields(const std::vector<OpSpec>& steps, size_t made_by, const Catalog& catalog, Schema& schema) {
  FieldFollower follower(schema, made_by > 0);
  for (size_t i = made_by + 1; i < steps.size(); ++i) {
    const OpDef* def = catalog.find(steps[i].name);
    if (def == nullptr) continue;
    follower.step(steps[i], *def);
    // Fields after the next function are for that function to return.
    if (def->role == OpRole::kFunction) return;
  }
}

}  // namespace forebay
