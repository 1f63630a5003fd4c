#include "loader/describe/packed_parts.h"

#include <fmt/format.h>

#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "ops/definition/args.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {

std::optional<Problem> part_field_problem(const Branch& branch) {
  const std::vector<OpSpec>& steps = branch.description.steps();
  bool packed = false;
  for (size_t i = 1; i < steps.size(); ++i) {
    packed |= catalog().has_effect(steps[i], OpEffect::kPacking);
    const OpDef* const def = catalog().find(steps[i].name);
    if (packed && steps[i].name == "fill_missing")
      return Problem{place_of(steps, i), "missing=\"mask\" is not for packed blocks, whose parts pack the same fields",
                     "leave it out"};
    if (packed && def != nullptr && def->made_by_sources)
      return Problem{place_of(steps, i), "packed blocks have no field for their part yet",
                     "leave field= out; batch.parts has the part of each block"};
  }
  return std::nullopt;
}

std::optional<Problem> packed_parts_problem(std::span<const Branch* const> branches) {
  if (branches.empty()) return std::nullopt;
  const Branch& first = *branches.front();
  const OpSpec* const pack = find_step(first.description, OpEffect::kPacking);
  for (const Branch* const branch : branches) {
    const OpSpec* const other = find_step(branch->description, OpEffect::kPacking);
    if ((pack == nullptr) != (other == nullptr))
      return Problem{
          "",
          fmt::format("'{}' has packed blocks, and '{}' has samples", pack != nullptr ? first.name() : branch->name(),
                      pack != nullptr ? branch->name() : first.name()),
          "put .pack() into all parts, or into none"};
    if (pack == nullptr) continue;
    // The others say only which rows share a block, or are seen in the fields.
    for (const char* arg : {"length", "field", "eos", "shift", "pad_value"}) {
      const auto& defs = catalog().find(pack->name)->args;
      const Json& one = Args(pack->args, defs).json(arg);
      const Json& two = Args(other->args, defs).json(arg);
      if (one != two)
        return Problem{"",
                       fmt::format("'{}' packs with {}={}, and '{}' with {}={}", first.name(), arg, json_text(one),
                                   branch->name(), arg, json_text(two)),
                       "give both the same"};
    }
  }
  return std::nullopt;
}

}  // namespace forebay
