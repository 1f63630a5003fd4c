#include "pipeline/catalog.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/suggest.h"
#include "pipeline/cache_rules.h"

namespace forebay {

namespace {

// The fields an operator names, or would take by default.
std::vector<std::string> fields_used(const OpSpec& op, const OpDef& def) {
  if (def.uses) return def.uses(op).reads;
  std::vector<std::string> names;
  for (const ArgDef& arg : def.args) {
    if (arg.name != "field" && arg.name != "fields") continue;
    names = field_list(op.args.contains(arg.name) ? op.args[arg.name] : arg.default_value);
  }
  return names;
}

// User code at step `made_by` may make fields nobody has heard of: what later operators ask for is taken on trust until a
// sample comes.
void trust_later_fields(const std::vector<OpSpec>& steps, size_t made_by, const Catalog& catalog, Schema& schema) {
  std::set<std::string> made_later;
  for (size_t i = made_by + 1; i < steps.size(); ++i) {
    const OpDef* def = catalog.find(steps[i].name);
    if (def == nullptr) continue;
    std::vector<std::string> used = fields_used(steps[i], *def);
    const Json renamed = steps[i].name == "rename" ? steps[i].args.value("names", Json::object()) : Json::object();
    for (const auto& [from, to] : renamed.items()) used.push_back(from);
    for (const std::string& name : used) {
      if (name.empty() || schema.find(name) || made_later.contains(name)) continue;
      Field field;
      field.name = name;
      field.kind = FieldKind::kAny;
      schema.push_back(std::move(field));
    }
    if (def->uses) {
      for (std::string& name : def->uses(steps[i]).makes) made_later.insert(std::move(name));
    }
    if (steps[i].name == "decode_image") made_later.insert("image");
    for (const auto& [from, to] : renamed.items()) {
      if (to.is_string()) made_later.insert(to.get<std::string>());
    }
    if (steps[i].name == "select") return;
  }
}

}  // namespace

Catalog::Catalog(std::vector<OpDef> ops) {
  for (OpDef& op : ops) ops_.emplace(op.name, std::move(op));
}

const OpDef* Catalog::find(std::string_view name) const {
  auto it = ops_.find(name);
  return it == ops_.end() ? nullptr : &it->second;
}

std::string Catalog::nearest(std::string_view name) const {
  std::vector<std::string> known;
  for (const auto& [op_name, op] : ops_) known.push_back(op_name);
  return suggest(name, known);
}

std::vector<std::string> field_list(const Json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  std::vector<std::string> names;
  if (value.is_array()) {
    for (const Json& name : value) {
      if (name.is_string()) names.push_back(name.get<std::string>());
    }
  }
  return names;
}

Inference infer(const Description& description, const Schema& source, const Catalog& catalog) {
  Inference result;
  const std::vector<OpSpec>& steps = description.steps();
  result.schemas.push_back(source);
  if (source.open_ended) trust_later_fields(steps, 0, catalog, result.schemas[0]);
  bool batched = false;
  for (size_t i = 1; i < steps.size(); ++i) {
    Schema schema = result.schemas.back();
    const std::string place = fmt::format("{}: {}", i, steps[i].name);
    const OpDef* def = catalog.find(steps[i].name);
    if (def == nullptr) {
      const std::string near = catalog.nearest(steps[i].name);
      result.problems.push_back({place, fmt::format("there is no operator '{}'", steps[i].name),
                                 near.empty() ? "see the list of operators" : fmt::format("did you mean '{}'?", near)});
    } else {
      if (batched) {
        result.problems.push_back(
            {place, steps[i].name == "batch" ? "the samples are batched already" : "it stands behind .batch()",
             steps[i].name == "batch" ? "keep one .batch()" : "move it before .batch()"});
      }
      std::vector<Problem> found;
      if (def->infer) def->infer(steps[i], schema, found);
      for (Problem& problem : found) {
        if (problem.op.empty()) problem.op = place;
        result.problems.push_back(std::move(problem));
      }
      for (Problem& problem : cache_problems(steps, i, catalog)) result.problems.push_back(std::move(problem));
      batched |= steps[i].name == "batch";
      if (schema.open_ended && steps[i].name == "map") trust_later_fields(steps, i, catalog, schema);
    }
    result.schemas.push_back(std::move(schema));
  }
  return result;
}

}  // namespace forebay
