#include "pipeline/operator_bytes.h"

#include <algorithm>
#include <optional>
#include <string>

#include "pipeline/operator.h"

namespace forebay {

uint64_t fixed_bytes(const Schema& schema) {
  uint64_t bytes = 0;
  for (const Field& field : schema) bytes += field.fixed_shape() ? row_bytes(field) : 0;
  return bytes;
}

void set_made_bytes(ChunkOp& op, const FieldUse& used, const Schema& before, const Schema& after) {
  for (const std::string& name : used.makes) {
    const std::optional<size_t> made = after.find(name), from = before.find(name);
    if (!made) continue;
    const size_t item = dtype_size(after[*made].dtype);
    if (after[*made].fixed_shape()) op.made_row_bytes += row_bytes(after[*made]);
    if (is_ragged(after[*made]))
      op.list_growth +=
          from && is_ragged(before[*from]) ? std::max<size_t>(1, item / dtype_size(before[*from].dtype)) : item;
  }
}

uint64_t working_bytes(const FieldUse& used, const Schema& before, const Schema& after) {
  constexpr uint64_t kElement = 16, kLeast = 4096;
  uint64_t bytes = kLeast;
  for (const std::string& name : used.makes) {
    for (const Schema* schema : {&before, &after}) {
      const std::optional<size_t> field = schema->find(name);
      if (field && (*schema)[*field].fixed_shape())
        bytes += kElement * static_cast<uint64_t>((*schema)[*field].shape.elements());
    }
  }
  return bytes;
}

}  // namespace forebay
