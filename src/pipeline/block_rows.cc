#include "pipeline/block_rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "base/convert.h"

namespace forebay {

bool is_droppable(const std::string& name, FieldKind kind) {
  // A key of kind kAny is taken for text, since the type of an array is known when the data set is
  // opened.
  return name == "key" && (kind == FieldKind::kText || kind == FieldKind::kAny);
}

Problem dropped_fields_problem(const std::string& packed, const std::vector<std::string>& names) {
  return {"", fmt::format("blocks hold the field '{}' alone, and '{}' would be lost", packed, fmt::join(names, "', '")),
          fmt::format("put .select(\"{}\") before .pack() to leave the others out; one field of several is made with "
                      ".map",
                      packed)};
}

std::vector<BlockRow> rows_in_blocks(const StepPlan& step, int64_t length) {
  std::vector<BlockRow> rows(step.pieces.size());
  for (size_t block = 0; block < step.blocks.size(); ++block) {
    const size_t first = step.blocks[block].first;
    const size_t end = block + 1 < step.blocks.size() ? step.blocks[block + 1].first : rows.size();
    const int64_t begin = static_cast<int64_t>(block) * length;
    for (size_t i = first; i < end; ++i) {
      // The last row writes the padding up to the end of its block.
      const bool last = i + 1 == end;
      rows[i] = {begin + step.pieces[i].at, begin + (last ? length : step.pieces[i + 1].at), step.pieces[i].from,
                 static_cast<int32_t>(i - first + 1)};
    }
  }
  return rows;
}

void write_blocks(BlockValue value, DType type, double pad, std::span<const BlockRow> rows,
                  std::span<const RowBytes> bytes, uint8_t* values) {
  const size_t item = dtype_size(type);
  for (size_t i = 0; i < rows.size(); ++i) {
    const BlockRow& row = rows[i];
    const auto count = static_cast<int64_t>(bytes[i].size() / item);
    if (value == BlockValue::kElements) {
      uint8_t* const to = values + static_cast<size_t>(row.begin) * item;
      if (count > 0) std::memcpy(to, bytes[i].data(), bytes[i].size());
      fill(type, pad, to + bytes[i].size(), static_cast<size_t>(row.end - row.begin - count));
      continue;
    }
    int32_t* const to = reinterpret_cast<int32_t*>(values) + row.begin;
    if (value == BlockValue::kSegments) {
      std::fill_n(to, count, row.segment);
    } else {
      std::iota(to, to + count, static_cast<int32_t>(row.from));
    }
    std::fill(to + count, to + (row.end - row.begin), 0);
  }
}

}  // namespace forebay
