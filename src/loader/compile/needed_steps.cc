#include "loader/compile/needed_steps.h"

#include <algorithm>
#include <utility>

#include "pipeline/part_fields.h"

namespace forebay {

namespace {

bool among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Builds the reduced description step by step, and tracks the fields that samples have at that
/// place.
class Builder {
 public:
  Builder(const OpSpec& source, const Schema& source_schema, LiveFields live, const Catalog& catalog)
      : catalog_(catalog) {
    needed_.description = Description(source);
    needed_.steps.push_back(0);
    needed_.live.push_back(std::move(live));
    for (const Field& field : source_schema) names_.insert(field.name);
    user_code_ = source_schema.open_ended;
  }

  /// `before` and `behind` are the schemas before and after the step in the user's description.
  void append(const OpSpec& op, size_t step, const Schema& before, const Schema& behind, const LiveFields& after) {
    const OpDef& def = *catalog_.find(op.name);
    const FieldUse whole = def.used(op, before);
    OpSpec narrowed = op;
    if (def.role == OpRole::kChoice) narrowed.args["fields"] = names_in_part(op.part, kept(whole, after));
    if (def.role == OpRole::kNames) narrowed.args["names"] = names_in_part(op.part, renamed(whole, after));
    if (whole.each && whole.reads.size() > 1) narrowed.args["field"] = names_in_part(op.part, kept(whole, after));
    FieldUse use = def.used(narrowed, before);
    if (def.role != OpRole::kChoice && drop_dead_namesakes(def.role, use, step) && def.role == OpRole::kNames) {
      narrowed.args["names"] = names_in_part(op.part, renamed(whole, after));  // fewer fields have to be renamed now
      use = def.used(narrowed, before);
    }
    const bool nothing_left = (def.role == OpRole::kChoice && narrowed.args["fields"].empty()) ||
                              (def.role == OpRole::kNames && narrowed.args["names"].empty());
    if (nothing_left) {
      needed_.live.back() = after;
      return;
    }
    follow(def.role, use, behind);
    user_code_ |= def.role == OpRole::kFunction;
    if (def.role == OpRole::kFunction && !op.attachment && use.reads.empty() && op.part.empty())
      names_.clear();  // the fields that it gives are not known
    push(std::move(narrowed), step, after);
  }

  NeededSteps finish() { return std::move(needed_); }

 private:
  void push(OpSpec op, size_t step, LiveFields after) {
    needed_.description = needed_.description.append(std::move(op));
    needed_.steps.push_back(step);
    needed_.live.push_back(std::move(after));
  }

  // A field that is not live must not have the name of a new one. This happens if the step that
  // dropped or renamed it was left out. Returns whether such fields were dropped.
  bool drop_dead_namesakes(OpRole role, const FieldUse& use, size_t step) {
    const LiveFields& live = needed_.live.back();
    const auto in_the_way = [&](const std::string& name) {
      if (role == OpRole::kNames && among(use.reads, name)) return false;  // renamed in this step
      return names_.contains(name) && !live.contains(name);
    };
    if (std::none_of(use.makes.begin(), use.makes.end(), in_the_way)) return false;
    // User code before this step may make a live field; otherwise a later step makes it.
    std::set<std::string> kept = live.names();
    if (!user_code_) std::erase_if(kept, [&](const std::string& name) { return !names_.contains(name); });
    if (kept.empty()) return false;
    names_ = std::move(kept);
    OpSpec select;
    select.name = "select";
    select.args["fields"] = std::vector<std::string>(names_.begin(), names_.end());
    push(std::move(select), step, live);
    return true;
  }

  static Json kept(const FieldUse& use, const LiveFields& after) {
    Json names = Json::array();
    for (const std::string& name : use.reads) {
      if (after.contains(name)) names.push_back(name);
    }
    return names;
  }

  // Returns the pairs whose new name is live. It also returns, as in an exchange of names, the
  // pairs that move an existing field (live or not) from such a name.
  Json renamed(const FieldUse& use, const LiveFields& after) const {
    Json names = Json::object();
    std::set<std::string> made;
    // Repeats until no pair is added: the new name of such a field may be that of another field.
    for (bool more = true; more;) {
      more = false;
      for (size_t i = 0; i < use.reads.size(); ++i) {
        const bool out_of_the_way = made.contains(use.reads[i]) && names_.contains(use.reads[i]);
        if (names.contains(use.reads[i]) || !(after.contains(use.makes[i]) || out_of_the_way)) continue;
        names[use.reads[i]] = use.makes[i];
        more = made.insert(use.makes[i]).second;
      }
    }
    return names;
  }

  void follow(OpRole role, const FieldUse& use, const Schema& behind) {
    if (role == OpRole::kChoice)
      std::erase_if(names_, [&](const std::string& name) { return !among(use.reads, name); });
    if (role == OpRole::kNames) std::erase_if(names_, [&](const std::string& name) { return among(use.reads, name); });
    if (role == OpRole::kValues) {  // a stack replaces the fields that it stacks
      for (const std::string& name : use.reads) {
        if (!behind.find(name)) names_.erase(name);
      }
    }
    if (role != OpRole::kChoice) names_.insert(use.makes.begin(), use.makes.end());
  }

  const Catalog& catalog_;
  NeededSteps needed_;
  std::set<std::string> names_;
  bool user_code_ = false;  // an earlier step may have made any field
};

}  // namespace

LiveFields::LiveFields(const Schema& schema) : all_(schema.open_ended) {
  for (const Field& field : schema) names_.insert(field.name);
}

bool LiveFields::move_before(const OpSpec& op, const OpDef& def, const Schema& before) {
  const FieldUse use = def.used(op, before);
  switch (def.effect) {
    case OpEffect::kTaking:
    case OpEffect::kKeys:
    case OpEffect::kSelection:
    case OpEffect::kBuffering:
    case OpEffect::kPacking:  // the needed steps end here
    case OpEffect::kBatchFunction:
    case OpEffect::kCollation:
    case OpEffect::kOrder:
    case OpEffect::kDrawing:
    case OpEffect::kRepeating: return false;
    case OpEffect::kReplay:  // the needed steps end here, or continue after it
      for (const std::string& name : use.makes) names_.erase(name);
      return true;
    case OpEffect::kBatching:  // states the layout of the rows of some fields
    case OpEffect::kCaching: return true;
    case OpEffect::kContent: break;
  }
  switch (def.role) {
    case OpRole::kNone: return true;
    case OpRole::kChoice: return before_select(use);
    case OpRole::kNames: return before_rename(use);
    case OpRole::kFunction: return before_function(op, use);
    case OpRole::kValues: return before_values(use, before);
  }
  return true;
}

bool LiveFields::before_select(const FieldUse& use) {
  std::set<std::string> before;
  for (const std::string& name : use.reads) {
    if (contains(name)) before.insert(name);
  }
  names_ = std::move(before);
  all_ = false;
  return true;
}

bool LiveFields::before_rename(const FieldUse& use) {
  std::set<std::string> before = names_;
  for (const std::string& name : use.makes) before.erase(name);
  for (size_t i = 0; i < use.reads.size(); ++i) {
    if (contains(use.makes[i])) before.insert(use.reads[i]);
  }
  names_ = std::move(before);
  return true;
}

// The function runs even if its results are never read, because it may find a sample bad.
bool LiveFields::before_function(const OpSpec& op, const FieldUse& use) {
  names_.insert(use.reads.begin(), use.reads.end());
  all_ |= use.reads.empty() && op.part.empty();
  return true;
}

bool LiveFields::before_values(const FieldUse& use, const Schema& before) {
  const auto is_live = [&](const std::string& name) { return contains(name); };
  if (!all_ && std::none_of(use.makes.begin(), use.makes.end(), is_live)) return false;
  std::set<std::string> reads;
  for (const std::string& name : use.reads) {
    if (!use.each || is_live(name)) reads.insert(name);
  }
  for (const std::string& name : use.makes) names_.erase(name);
  names_.insert(reads.begin(), reads.end());
  for (const std::string& name : use.optional) {
    if (before.find(name)) names_.insert(name);
  }
  return true;
}

NeededSteps needed_steps(const Description& description, size_t end, const Inference& inference, LiveFields live,
                         const Catalog& catalog, const std::function<Schema(const LiveFields&)>& source_schema) {
  const std::vector<OpSpec>& steps = description.steps();
  std::vector<std::pair<size_t, LiveFields>> needed;  // last first, with the fields live after each
  // Steps are selected backwards, since the live fields are known at the end; the description is
  // then built forwards, since names are known at the start.
  for (size_t i = end; i-- > 1;) {
    LiveFields after = live;
    if (live.move_before(steps[i], *catalog.find(steps[i].name), inference.schemas[i - 1]))
      needed.emplace_back(i, std::move(after));
  }
  Builder builder(steps[0], source_schema(live), live, catalog);
  for (auto at = needed.rbegin(); at != needed.rend(); ++at)
    builder.append(steps[at->first], at->first, inference.schemas[at->first - 1], inference.schemas[at->first],
                   at->second);
  return builder.finish();
}

}  // namespace forebay
