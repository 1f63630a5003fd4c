#include "loader/describe/zip_rules.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "loader/describe/check.h"
#include "loader/describe/sources.h"
#include "pipeline/catalog.h"

namespace forebay {

using Wrong = std::pair<std::string, std::string>;

std::optional<Wrong> wrong_source_in_zip(const OpSpec& source) {
  if (!source.parts.empty() || is_source(source, SourceKind::kParts))
    return Wrong("a part of a zip is one data set",
                 "zip the data sets, and put that into the mix or concat: concat(zip(a, b), zip(c, d))");
  return std::nullopt;
}

namespace {

// A part that repeats has its samples several times, one pass after the other.
std::optional<Wrong> wrong_repeat_in_zip(const OpSpec& step, PartOrder order) {
  if (order == PartOrder::kOwn)
    return Wrong("its draws go on for as long as the first part has samples", "leave it out");
  const Json n = step.args.value("n", Json());
  if (!n.is_number() || n.get<double>() <= 0 || n.get<double>() == std::floor(n.get<double>())) return std::nullopt;
  return Wrong(fmt::format("n is {}, and a part of a zip has each sample a whole number of times", n.dump()),
               "give a whole number, or put .repeat() behind the zip");
}

}  // namespace

std::optional<Wrong> wrong_step_in_zip(const OpSpec& step, PartOrder order) {
  const OpDef* const def = catalog().find(step.name);
  if (def == nullptr || def->effect == OpEffect::kContent || def->effect == OpEffect::kCaching) return std::nullopt;
  if (leaves_out_samples(def->effect)) return std::nullopt;
  if (order == PartOrder::kOwn && chooses_samples(def->effect)) return std::nullopt;
  switch (def->effect) {
    case OpEffect::kOrder:
      if (order == PartOrder::kFirst) return std::nullopt;
      return Wrong("the order of a zip is that of its first part",
                   "shuffle the first part, or behind the zip; if any sample of this part may come with any of the "
                   "first, as noise does, draw them: .shuffle().sample()");
    case OpEffect::kDrawing:
      return Wrong("the first part gives the order of the zip, and only other parts have draws of their own",
                   fmt::format("put .{}() behind the zip", def->name));
    case OpEffect::kRepeating: return wrong_repeat_in_zip(step, order);
    case OpEffect::kPacking:
      return Wrong("a block has samples of many pairs",
                   "put .pack() behind the zip, where it packs the fields of all parts together");
    default: break;
  }
  return Wrong("a part of a zip has steps that change its own fields only",
               fmt::format("put .{}() behind the zip, where it has the samples of all parts", def->name));
}

std::optional<Wrong> unnamed_fields_in_zip(std::span<const OpSpec> steps) {
  const OpSpec& function = steps.front();
  // A C++ function has told the fields that it makes.
  const bool makes_any = catalog().has_role(function, OpRole::kFunction) || is_source(function, SourceKind::kUserCode);
  if (!makes_any || function.attachment) return std::nullopt;
  const auto chooses = [](const OpSpec& step) { return catalog().has_role(step, OpRole::kChoice); };
  if (std::ranges::any_of(steps, chooses)) return std::nullopt;
  return Wrong(fmt::format("a zip puts fields together by their names, and those that the {} returns are not known",
                           is_source(function, SourceKind::kUserCode) ? "data set" : "function"),
               "name them with .select(\"…\") behind it in this part");
}

}  // namespace forebay
