#include "loader/compile/untouched_field.h"

#include <algorithm>

#include "base/chunk_source.h"
#include "loader/describe/check.h"

namespace forebay {

std::string name_before(const OpSpec& rename, const Schema& before, const std::string& name) {
  const FieldUse use = catalog().find(rename.name)->used(rename, before);
  const auto to = std::ranges::find(use.makes, name);
  return to == use.makes.end() ? name : use.reads[static_cast<size_t>(to - use.makes.begin())];
}

std::optional<size_t> untouched_field(const Description& description, const Inference& inference, const Source& source,
                                      std::string name, size_t step) {
  // Rows of chunks are known only once their chunk is decoded, so their entries hold all fields.
  if (source.as_chunks() != nullptr) return std::nullopt;
  for (size_t i = step; i-- > 1;) {
    const OpSpec& op = description.steps()[i];
    const OpDef& def = *catalog().find(op.name);
    if (def.role == OpRole::kNames) {
      name = name_before(op, inference.schemas[i - 1], name);
      continue;
    }
    if (def.role == OpRole::kChoice) continue;
    const FieldUse use = def.used(op, inference.schemas[i - 1]);
    // A Python function may give back any field.
    const bool any = def.role == OpRole::kFunction && (!op.attachment || use.reads.empty());
    if (any || std::find(use.makes.begin(), use.makes.end(), name) != use.makes.end()) return std::nullopt;
  }
  const std::optional<size_t> field = source.schema().find(name);
  return field && !source.schema()[*field].fetched ? field : std::nullopt;
}

}  // namespace forebay
