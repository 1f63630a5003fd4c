#include "loader/describe/zip_rules.h"

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
  if (is_source(source, SourceKind::kUserCode))
    return Wrong("a data set of user code in a zip is not there yet",
                 "zip the other parts, and take from it in .map() behind the zip");
  return std::nullopt;
}

std::optional<Wrong> wrong_step_in_zip(const OpSpec& step, bool first) {
  const OpDef* const def = catalog().find(step.name);
  if (def == nullptr) return std::nullopt;
  if (def->effect == OpEffect::kOrder) {
    if (first) return std::nullopt;
    return Wrong("the order of a zip is that of its first part", "shuffle the first part, or behind the zip");
  }
  if (def->effect == OpEffect::kContent && def->role != OpRole::kFunction) return std::nullopt;
  if (def->effect == OpEffect::kKeys || def->effect == OpEffect::kSelection)
    return Wrong("a step that chooses samples of one part would leave those of the others without partners",
                 "choose behind the zip, where the samples have all parts: fb.split(fb.zip(…), …), or .filter() there");
  return Wrong("a part of a zip has native steps on its own fields only",
               fmt::format("put .{}() behind the zip, where it has the samples of all parts", def->name));
}

}  // namespace forebay
