#include "pipeline/block_rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/can_hold.h"
#include "base/convert.h"
#include "pipeline/chunk_plan.h"

namespace forebay {

namespace {

// Without a fixed length, each block has the ends of its rows, a 0 and the end of the padding.
ByteCount count_ends(const SegmentEnds& fields, int64_t blocks, int64_t rows) {
  const ByteCount all = static_cast<uint64_t>(blocks);
  return fields.entries > 0 ? all * static_cast<uint64_t>(fields.entries) : all * 2 + static_cast<uint64_t>(rows);
}

}  // namespace

ByteCount PackingStep::bytes(int64_t count, int64_t rows) const {
  const ByteCount all = static_cast<uint64_t>(count);
  ByteCount bytes = op_bytes(count, rows);
  for (const BlockField& field : fields)
    bytes += all * static_cast<uint64_t>(sequences.block_length) * field.item_bytes;
  if (!segment_ends) return bytes;
  return bytes + (count_ends(*segment_ends, count, rows) + all) * sizeof(int32_t) + (all + 1) * sizeof(int64_t);
}

ByteCount PackingStep::op_bytes(int64_t count, int64_t rows) const {
  const ByteCount ends = segment_ends ? count_ends(*segment_ends, count, rows) * sizeof(int32_t) : ByteCount();
  ByteCount bytes;
  for (const auto& op : ops)
    bytes += ByteCount(op->made_row_bytes) * static_cast<uint64_t>(count) + ends * op->list_growth;
  return bytes;
}

bool is_droppable(const std::string& name, FieldKind kind) {
  // A key of kind kAny is taken for text, since the type of an array is known when the data set is
  // opened.
  return name == "key" && (kind == FieldKind::kText || kind == FieldKind::kAny);
}

Problem dropped_fields_problem(const std::vector<std::string>& packed, const std::vector<std::string>& limited,
                               const std::vector<std::string>& names) {
  std::vector<std::string> lengths, read = packed;
  read.insert(read.end(), limited.begin(), limited.end());
  for (const auto* list : {&packed, &names}) {
    for (const std::string& name : *list) lengths.push_back(fmt::format("\"{}\": n", name));
  }
  return {"",
          fmt::format("blocks hold the field{} '{}' alone, and '{}' would be lost", packed.size() == 1 ? "" : "s",
                      fmt::join(packed, "', '"), fmt::join(names, "', '")),
          fmt::format("put .select(\"{}\") before .pack() to leave the others out, or pack them, too, if they are as "
                      "long: .pack({{{}}})",
                      fmt::join(read, "\", \""), fmt::join(lengths, ", "))};
}

std::optional<Problem> number_problem(const BlockField& field, const std::string& from, DType type) {
  const bool holds_pad = can_hold(type, field.pad);
  if (holds_pad && (!field.appended || can_hold(type, *field.appended))) return std::nullopt;
  return Problem{"",
                 fmt::format("'{}' is {}, which cannot hold {}, which {}", field.name, dtype_name(type),
                             holds_pad ? *field.appended : field.pad, holds_pad ? "ends its rows" : "pads it"),
                 fmt::format("put .cast(\"int32\", field=\"{}\") before .pack(), or give {}={{\"{}\": …}}", from,
                             holds_pad ? "eos" : "pad_value", field.name)};
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
      rows[i] = {begin + step.pieces[i].at, begin + (last ? length : step.pieces[i + 1].at), step.pieces[i].count,
                 static_cast<int32_t>(i - first + 1)};
    }
  }
  return rows;
}

namespace {

void write_elements(const BlockField& field, DType type, const BlockRow& row, RowBytes bytes, uint8_t* to) {
  const size_t item = dtype_size(type);
  const int64_t count = bytes.empty() ? 0 : row.count;
  const int64_t given = count - (row.appended && count > 0 ? 1 : 0);
  const int64_t written = std::max<int64_t>(count - field.shift, 0);
  const int64_t copied = std::max<int64_t>(given - field.shift, 0);
  if (copied > 0)
    std::memcpy(to, bytes.data() + static_cast<size_t>(field.shift) * item, static_cast<size_t>(copied) * item);
  uint8_t* const last = to + static_cast<size_t>(copied) * item;
  if (written > copied && field.appended) fill(type, *field.appended, last, 1);
  if (written > copied && !field.appended) std::memcpy(last, bytes.last(item).data(), item);
  fill(type, field.pad, to + static_cast<size_t>(written) * item, static_cast<size_t>(row.end - row.begin - written));
}

}  // namespace

void write_blocks(const BlockField& field, DType type, std::span<const BlockRow> rows, std::span<const RowBytes> bytes,
                  uint8_t* values) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const BlockRow& row = rows[i];
    if (field.value == BlockValue::kElements) {
      write_elements(field, type, row, bytes[i], values + static_cast<size_t>(row.begin) * dtype_size(type));
      continue;
    }
    const int64_t count = bytes[i].empty() ? 0 : row.count;
    int32_t* const to = reinterpret_cast<int32_t*>(values) + row.begin;
    if (field.value == BlockValue::kSegments) {
      std::fill_n(to, count, row.segment);
    } else {
      std::iota(to, to + count, 0);
    }
    std::fill(to + count, to + (row.end - row.begin), 0);
  }
}

}  // namespace forebay
