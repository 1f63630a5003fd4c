#include "pipeline/catalog.h"

#include <utility>

#include <fmt/format.h>

#include "base/suggest.h"
#include "pipeline/cache_rules.h"
#include "pipeline/user_fields.h"

namespace forebay {

Json OpDef::given(const OpSpec& op, ArgUse use) const {
  for (const ArgDef& arg : args) {
    if (arg.use != use) continue;
    const auto found = op.args.find(arg.name);
    return found == op.args.end() || found->is_null() ? arg.default_value : *found;
  }
  return nullptr;
}

Catalog::Catalog(std::vector<OpDef> ops) {
  for (OpDef& op : ops) ops_.emplace(op.name, std::move(op));
}

const OpDef* Catalog::find(std::string_view name) const {
  auto it = ops_.find(name);
  return it == ops_.end() ? nullptr : &it->second;
}

bool Catalog::has_role(const OpSpec& op, OpRole role) const {
  const OpDef* const def = find(op.name);
  return def != nullptr && def->role == role;
}

bool Catalog::has_effect(const OpSpec& op, OpEffect effect) const {
  const OpDef* const def = find(op.name);
  return def != nullptr && def->effect == effect;
}

std::string Catalog::nearest(std::string_view name) const {
  std::vector<std::string> known;
  for (const auto& [op_name, op] : ops_) known.push_back(op_name);
  return suggest(name, known);
}

Inference infer(const Description& description, const Schema& source, const Catalog& catalog, Rules rules) {
  Inference result;
  const std::vector<OpSpec>& steps = description.steps();
  result.schemas.push_back(source);
  if (source.open_ended) expect_user_fields(steps, 0, catalog, result.schemas[0]);
  bool batched = false, shuffled = false, buffered = false, packed = false;
  for (size_t i = 1; i < steps.size(); ++i) {
    Schema schema = result.schemas.back();
    const std::string place = fmt::format("{}: {}", i, steps[i].name);
    const OpDef* def = catalog.find(steps[i].name);
    if (def == nullptr) {
      const std::string near = catalog.nearest(steps[i].name);
      result.problems.push_back({place, fmt::format("there is no operator '{}'", steps[i].name),
                                 near.empty() ? "see the list of operators" : fmt::format("did you mean '{}'?", near)});
    } else {
      const bool batches = def->effect == OpEffect::kBatching, orders = def->effect == OpEffect::kOrder;
      if (batched) {
        result.problems.push_back({place, batches ? "the samples are batched already" : "it stands behind .batch()",
                                   batches ? "keep one .batch()" : "move it before .batch()"});
      }
      // Rules on the order of two steps are reported at the later one, so they look at the steps so
      // far.
      if (std::exchange(packed, packed || def->effect == OpEffect::kPacking) && !orders && !batches)
        result.problems.push_back(
            {place, "it stands behind .pack(), which puts samples together", "move it before .pack()"});
      if (std::optional<Problem> wrong = problem_behind_rehearsal(steps, i, catalog))
        result.problems.push_back(std::move(*wrong));
      if (orders && std::exchange(shuffled, true))
        result.problems.push_back({place, "the samples are shuffled already", "keep one .shuffle()"});
      if (def->effect == OpEffect::kBuffering && std::exchange(buffered, true))
        result.problems.push_back({place, "there is a .buffer() already", "keep one, with all that it is to do"});
      std::vector<Problem> found;
      if (def->infer) def->infer(steps[i], schema, found);
      for (Problem& problem : found) {
        if (problem.op.empty()) problem.op = place;
        result.problems.push_back(std::move(problem));
      }
      if (rules == Rules::kAll) {
        for (Problem& problem : cache_problems(steps, i, catalog)) result.problems.push_back(std::move(problem));
        for (Problem& problem : pack_problems(steps, i, catalog)) result.problems.push_back(std::move(problem));
        if (std::optional<Problem> wrong = problem_of_epoch(steps, i, catalog))
          result.problems.push_back(std::move(*wrong));
      }
      batched |= batches;
      if (schema.open_ended && def->role == OpRole::kFunction) expect_user_fields(steps, i, catalog, schema);
    }
    result.schemas.push_back(std::move(schema));
  }
  return result;
}

}  // namespace forebay
