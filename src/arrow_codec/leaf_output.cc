#include "arrow_codec/leaf_output.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>

#include <arrow/type.h>
#include <fmt/format.h>

#include "arrow_codec/recycling_pool.h"
#include "base/utf8.h"
#include "forebay/string_list.h"

namespace forebay {

namespace {

constexpr uint64_t kBadRowBytes = 96;  // a node of the map

/// Index of the first slot of `level` in each row: int64, rows + 1. `level` is that of the rows or
/// of the elements of a list.
Result<Buffer> row_offsets(const FlatLeaf& flat, int level) {
  if (level == 1) return flat.offsets[0];
  const auto rows = static_cast<size_t>(flat.rows());
  FOREBAY_ASSIGN(Buffer out, take_memory((rows + 1) * sizeof(int64_t)));
  auto* to = reinterpret_cast<int64_t*>(out.data());
  if (level == 0) {
    std::iota(to, to + rows + 1, int64_t{0});
    return out;
  }
  std::memcpy(to, flat.offsets_of(0), out.size());
  for (int list = 1; list < level; ++list) {
    const int64_t* inner = flat.offsets_of(static_cast<size_t>(list));
    // Composes the offsets level by level, until they count the slots of that level.
    for (size_t row = 0; row <= rows; ++row) to[row] = inner[to[row]];
  }
  return out;
}

/// Lengths of the lists that are the slots of `level`.
Result<Buffer> lengths(const FlatLeaf& flat, int level) {
  const auto slots = static_cast<size_t>(flat.slots[static_cast<size_t>(level)]);
  const int64_t* offsets = flat.offsets_of(static_cast<size_t>(level));
  FOREBAY_ASSIGN(Buffer out, take_memory(slots * sizeof(int32_t)));
  auto* to = reinterpret_cast<int32_t*>(out.data());
  for (size_t slot = 0; slot < slots; ++slot) {
    const int64_t length = offsets[slot + 1] - offsets[slot];
    if (length > std::numeric_limits<int32_t>::max()) return unsupported("a list or string is longer than 2^31 - 1");
    to[slot] = static_cast<int32_t>(length);
  }
  return out;
}

/// Validity of the slots of `level`, one byte each.
Result<Buffer> validity(const FlatLeaf& flat, int level) {
  const auto at = static_cast<size_t>(level);
  if (!flat.valid[at].empty()) return flat.valid[at];
  FOREBAY_ASSIGN(Buffer out, take_memory(static_cast<size_t>(flat.slots[at])));
  std::memset(out.data(), 1, out.size());
  return out;
}

/// Offset of each row as a StringList, and the end of the last: int64, rows + 1.
Result<Buffer> list_offsets(const FlatLeaf& flat, const int64_t* strings, const int64_t* bytes) {
  const auto rows = static_cast<size_t>(flat.rows());
  FOREBAY_ASSIGN(Buffer out, take_memory((rows + 1) * sizeof(int64_t)));
  auto* to = reinterpret_cast<int64_t*>(out.data());
  to[0] = 0;
  for (size_t row = 0; row < rows; ++row) {
    const auto count = static_cast<uint64_t>(strings[row + 1] - strings[row]);
    const auto size = static_cast<uint64_t>(bytes[strings[row + 1]] - bytes[strings[row]]);
    const uint64_t run = StringList::run_bytes(count, size);
    // Offsets in a StringList have 32 bits.
    if (run > std::numeric_limits<uint32_t>::max()) return unsupported("the strings of a row have 4 GiB or more");
    to[row + 1] = to[row] + static_cast<int64_t>(run);
  }
  return out;
}

/// Converts each row's strings to a StringList.
Result<ColumnValues> string_lists(const FlatLeaf& flat, int level) {
  FOREBAY_ASSIGN(const Buffer rows, row_offsets(flat, level));
  const auto* strings = reinterpret_cast<const int64_t*>(rows.data());
  const int64_t* bytes = flat.offsets_of(static_cast<size_t>(level));
  ColumnValues out;
  FOREBAY_ASSIGN(out.offsets, list_offsets(flat, strings, bytes));
  FOREBAY_ASSIGN(out.values, take_memory(static_cast<size_t>(out.offset()[flat.rows()])));
  uint8_t* to = out.values.data();
  for (int64_t row = 0; row < flat.rows(); ++row) {
    const int64_t begin = strings[row], end = strings[row + 1];
    const int64_t head = static_cast<int64_t>(StringList::run_bytes(static_cast<uint64_t>(end - begin), 0));
    for (int64_t slot = begin; slot <= end; ++slot, to += sizeof(uint32_t)) {
      const auto offset = static_cast<uint32_t>(head + bytes[slot] - bytes[begin]);
      std::memcpy(to, &offset, sizeof offset);
    }
    const auto size = static_cast<size_t>(bytes[end] - bytes[begin]);
    if (size > 0) std::memcpy(to, flat.values.data() + bytes[begin], size);
    to += size;
  }
  return out;
}

/// Visits the rows with a 0 in `valid`, which has one byte per slot of `level`; an empty `valid`
/// means that there is none. Rows come in ascending order; one may be visited more than once.
template <typename Visit>
Status visit_rows_with_zero(const FlatLeaf& flat, const Leaf& leaf, const Buffer& valid, int level, Visit visit) {
  if (valid.empty()) return {};
  // The level behind the innermost list has the elements of tensors.
  const int lists = std::min(level, leaf.lists);
  const int64_t each = level > lists ? leaf.elements() : 1;
  if (lists == 0) {
    for (size_t slot = 0; slot < valid.size(); ++slot) {
      if (valid.data()[slot] == 0) visit(static_cast<int64_t>(slot) / each);
    }
    return {};
  }
  FOREBAY_ASSIGN(const Buffer offsets, row_offsets(flat, lists));
  const auto* begin = reinterpret_cast<const int64_t*>(offsets.data());
  for (int64_t row = 0; row < flat.rows(); ++row) {
    const auto length = static_cast<size_t>((begin[row + 1] - begin[row]) * each);
    if (length > 0 && std::memchr(valid.data() + begin[row] * each, 0, length) != nullptr) visit(row);
  }
  return {};
}

/// Adds the rows with a 0 in `valid` to `bad`. It passes over the slots twice, because memory for
/// the rows is requested before any is recorded.
Status add_rows_with_zero(const FlatLeaf& flat, const Leaf& leaf, const Buffer& valid, int level, const Status& reason,
                          BadRowCollector& bad) {
  size_t count = 0;
  int64_t last = -1;
  FOREBAY_RETURN_IF_ERROR(visit_rows_with_zero(flat, leaf, valid, level, [&](int64_t row) {
    count += row != last ? 1 : 0;
    last = row;
  }));
  FOREBAY_RETURN_IF_ERROR(bad.reserve(count));
  return visit_rows_with_zero(flat, leaf, valid, level, [&](int64_t row) { bad.add(row, reason); });
}

/// How to read the column so that its values are not lost.
std::string remedy(const Leaf& leaf) {
  if (leaf.int96) return fmt::format("read a wider unit with types={{'{}': 'datetime64[us]'}}", leaf.name);
  if (!leaf.wanted && leaf.own.dtype == DType::kFloat64)
    return fmt::format(
        "read all digits as text with types={{'{0}': 'string'}}, whole numbers with 'int64' or 'uint64', or the "
        "nearest floats with 'float64'",
        leaf.name);
  return fmt::format("name a type that holds its values with types={{'{}': …}}", leaf.name);
}

}  // namespace

Result<ColumnValues> output_values(const FlatLeaf& flat, const Leaf& leaf, const Output& output) {
  ColumnValues out;
  switch (output.role) {
    case Output::Role::kValues:
      if (leaf.string_lists()) return string_lists(flat, leaf.lists - 1);
      out.values = flat.values;
      if (leaf.lists > 0) {
        FOREBAY_ASSIGN(out.offsets, row_offsets(flat, leaf.lists));
      }
      return out;
    case Output::Role::kLengths: {
      FOREBAY_ASSIGN(out.values, lengths(flat, output.level));
      FOREBAY_ASSIGN(out.offsets, row_offsets(flat, output.level));
      return out;
    }
    case Output::Role::kValid: {
      FOREBAY_ASSIGN(out.values, validity(flat, 0));
      return out;
    }
    case Output::Role::kItemsValid: {
      FOREBAY_ASSIGN(out.values, validity(flat, output.level));
      if (leaf.lists > 0) {
        FOREBAY_ASSIGN(out.offsets, row_offsets(flat, std::min(output.level, leaf.lists)));
      }
      return out;
    }
  }
  return out;
}

Status BadRowCollector::reserve(size_t count) {
  const uint64_t needed = rows_.size() + count;
  if (needed <= charged_) return {};
  // At least doubles, so that many columns with a few bad rows each take few requests.
  const uint64_t charged = std::max(needed, 2 * charged_);
  FOREBAY_RETURN_IF_ERROR(charge_memory((charged - charged_) * kBadRowBytes));
  charged_ = charged;
  return {};
}

std::shared_ptr<const std::map<int64_t, Status>> BadRowCollector::take() && {
  if (rows_.empty()) return nullptr;
  return std::make_shared<const std::map<int64_t, Status>>(std::move(rows_));
}

Status note_nulls(const FlatLeaf& flat, const Leaf& leaf, BadRowCollector& bad) {
  // Outer levels come first, because their errors are more informative.
  for (int level = 0; level < static_cast<int>(flat.valid.size()); ++level) {
    const Buffer& valid = flat.valid[static_cast<size_t>(level)];
    const Status reason = corrupt(fmt::format("the column '{}' {} here; give null= a value, or fb.NULL_MASK", leaf.name,
                                              level == 0 ? "is null" : "has a null inside its list"));
    FOREBAY_RETURN_IF_ERROR(add_rows_with_zero(flat, leaf, valid, level, reason, bad));
  }
  return {};
}

Status note_lost(const FlatLeaf& flat, const Leaf& leaf, BadRowCollector& bad) {
  if (flat.exact.empty()) return {};
  const Status reason =
      corrupt(fmt::format("the column '{}' ({}) has a value here that {} does not hold; {}", leaf.name,
                          leaf.type->ToString(), column_type_word(leaf.read_as()), remedy(leaf)));
  const int last = static_cast<int>(flat.slots.size()) - 1;
  return add_rows_with_zero(flat, leaf, flat.exact, last, reason, bad);
}

Status note_bad_text(const FlatLeaf& flat, const Leaf& leaf, BadRowCollector& bad) {
  const int last = leaf.lists - 1;
  const auto texts = static_cast<size_t>(flat.slots[static_cast<size_t>(last)]);
  const std::span offsets(flat.offsets_of(static_cast<size_t>(last)), texts + 1);
  if (all_utf8(flat.values.span(), offsets)) return {};
  FOREBAY_ASSIGN(Buffer good, take_memory(texts));
  for (size_t slot = 0; slot < good.size(); ++slot) {
    const auto from = static_cast<size_t>(offsets[slot]), to = static_cast<size_t>(offsets[slot + 1]);
    good.data()[slot] = is_utf8(flat.values.span().subspan(from, to - from)) ? 1 : 0;
  }
  const Status reason =
      corrupt(fmt::format("the column '{0}' holds text that is not UTF-8; restore the file, or read the column with "
                          "types={{'{0}': 'bytes'}}",
                          leaf.name));
  return add_rows_with_zero(flat, leaf, good, last, reason, bad);
}

}  // namespace forebay
