#include "pipeline/collate.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/columns.h"
#include "base/convert.h"
#include "forebay/string_list.h"

namespace forebay {

namespace {

BatchField::Kind kind_of_strings(FieldKind kind) {
  switch (kind) {
    case FieldKind::kBytes: return BatchField::Kind::kBytes;
    case FieldKind::kText: return BatchField::Kind::kText;
    case FieldKind::kBytesList: return BatchField::Kind::kBytesList;
    case FieldKind::kTextList: return BatchField::Kind::kTextList;
    default: return BatchField::Kind::kRagged;
  }
}

bool is_string_list(FieldKind kind) { return kind == FieldKind::kBytesList || kind == FieldKind::kTextList; }

// Whether the value is a list without elements. The type that user code gives for such a list is
// meaningless.
bool is_empty_row(const Value& value) {
  return value.kind == FieldKind::kTensor && value.shape().rank() == 1 && value.shape()[0] == 0;
}

std::string describe(const Value& value) {
  if (value.kind == FieldKind::kBytes) return "bytes";
  if (value.kind == FieldKind::kText) return "text";
  if (value.kind == FieldKind::kBytesList) return "a list of bytes";
  if (value.kind == FieldKind::kTextList) return "a list of text";
  if (value.kind == FieldKind::kAny) return "missing";
  return fmt::format("{} {}", dtype_name(value.dtype()), value.shape().to_string());
}

Status with_sample_name(Status status, const SampleOf& sample_of, size_t at) {
  if (!sample_of) return status;
  const SampleName here = sample_of(at);
  return std::move(status).with_key(here.key).with_sample(here.id);
}

bool is_empty(const Value& value) { return value.kind == FieldKind::kTensor && value.shape().elements() == 0; }

std::string remedy_for(const Value& first, const Value& other) {
  constexpr std::string_view kOneShape = "resize, crop or .pad() it, or use .batch(1)";
  const bool tensors = first.kind == FieldKind::kTensor && other.kind == FieldKind::kTensor;
  if (!tensors) return std::string(kOneShape);
  if (first.dtype() != other.dtype())
    return fmt::format("give all samples one type, with .cast(\"{}\") or in the code that makes them",
                       dtype_name(first.dtype()));
  // For example np.array([]) for a picture without boxes.
  const Value &empty = is_empty(other) ? other : first, &full = is_empty(other) ? first : other;
  if (is_empty(empty) && empty.shape().rank() == 1 && full.shape().rank() > 1) {
    std::string axes;
    for (const int64_t dim : without_first(full.shape())) axes += fmt::format(", {}", dim);
    return fmt::format("an array without elements needs all its axes, too: .reshape(-1{})", axes);
  }
  if (first.shape().rank() > 1 && first.shape().rank() == other.shape().rank())
    return fmt::format("{}; without that the first axis alone may differ", kOneShape);
  return std::string(kOneShape);
}

// The error of a value at `at` that does not fit together with the first one.
Status mismatch(const std::string& name, const std::vector<const Value*>& values, size_t at,
                const SampleOf& sample_of) {
  const std::string first = describe(*values.front()), other = describe(*values[at]);
  const std::string remedy = remedy_for(*values.front(), *values[at]);
  const auto text = [&](const std::string& others) {
    return invalid_argument(
        fmt::format("the field '{}' is {} here and {} in {} of the same batch; one batch needs one shape and type: {}",
                    name, other, first, others, remedy));
  };
  if (!sample_of) return text("another sample");
  const SampleName before = sample_of(0);
  return with_sample_name(text(fmt::format("sample {} ('{}')", before.id, before.key)), sample_of, at);
}

// `at`: the index of the longest row. `item`: the shape without the first axis.
Result<Shape> padded_shape(const std::string& name, const Field& field, int64_t longest, const Shape& item, size_t at,
                           const SampleOf& sample_of) {
  if (field.pad_length > 0 && longest > field.pad_length) {
    return with_sample_name(
        invalid_argument(fmt::format("a row of '{}' has {} values, more than the {} it is padded to", name, longest,
                                     field.pad_length)),
        sample_of, at);
  }
  return with_first(field.pad_length > 0 ? field.pad_length : longest, item);
}

void add_strings(Collation& plan, RowBytes row) {
  if (plan.string_list()) plan.strings += StringList(row).size();
  plan.value_bytes += plan.string_list() ? StringList(row).bytes().size() : row.size();
}

bool rows_may_differ(const Field& field) { return field.kind == FieldKind::kAny || is_ragged(field); }

Result<Collation> plan_tensors(const std::string& name, const Field& field, const std::vector<const Value*>& values,
                               const SampleOf& sample_of) {
  Collation plan;
  const Value& first = *values.front();
  plan.dtype = first.dtype();
  plan.row_shape = first.shape();
  bool same = true;
  const Shape item = without_first(plan.row_shape);
  // For fields of user code nothing else is known. If elements have no bytes, a row does not tell
  // how many it has.
  const bool may_differ =
      plan.row_shape.rank() > 0 && item.elements() > 0 && (plan.row_shape.rank() == 1 || rows_may_differ(field));
  int64_t longest = 0, total = 0;
  size_t longest_at = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const Value* value = values[i];
    const Shape shape = value->shape();
    if (value->kind != FieldKind::kTensor || value->dtype() != plan.dtype || shape.rank() != plan.row_shape.rank()) {
      return mismatch(name, values, i, sample_of);
    }
    same &= shape == plan.row_shape;
    if (!same && !(may_differ && without_first(shape) == item)) return mismatch(name, values, i, sample_of);
    if (shape.rank() == 0) continue;
    if (shape[0] > longest) longest_at = i;
    longest = std::max(longest, shape[0]);
    // No overflow, since all rows are in memory.
    total += shape[0];
  }
  if (field.pad_value && plan.row_shape.rank() > 0) {
    FOREBAY_ASSIGN(plan.row_shape, padded_shape(name, field, longest, item, longest_at, sample_of));
    plan.pad = field.pad_value;
    plan.pads_to_longest = field.pad_length == 0;
  } else if (!same || (may_differ && is_ragged(field))) {
    // A field announced as ragged is ragged in every batch, even if the lengths agree.
    plan.kind = BatchField::Kind::kRagged;
    plan.row_shape = item;
    plan.value_bytes = static_cast<size_t>(total) * plan.item_bytes();
    return plan;
  }
  plan.row_bytes = static_cast<size_t>(plan.row_shape.elements()) * dtype_size(plan.dtype);
  plan.value_bytes = plan.row_bytes * values.size();
  return plan;
}

constexpr size_t kAhead = 16;  // rows of a table are scattered in memory, so they are prefetched

void prefetch(std::span<const RowBytes> rows, size_t at) {
  // For reading (0), into the second-level cache (2), which allows more outstanding loads than the
  // first.
  __builtin_prefetch(rows[std::min(at + kAhead, rows.size() - 1)].data(), 0, 2);
}

// Bytes of `values` that the row takes.
size_t value_bytes(const Collation& plan, RowBytes row) {
  if (plan.kind == BatchField::Kind::kDense) return plan.row_bytes;
  return plan.string_list() ? StringList(row).bytes().size() : row.size();
}

// Bytes before a piece, without the offsets of rows.
size_t bytes_before(const CollationPiece& piece) { return piece.value_at + piece.strings_at * sizeof(int64_t); }

// Copies lists of strings: for each row the offsets of its strings, and then the strings.
void collate_lists(std::span<const RowBytes> rows, const CollationPiece& piece, BatchField& out) {
  uint8_t* to = out.values.buffer.data() + piece.value_at;
  int64_t* offset = out.offsets.data<int64_t>() + piece.begin;
  int64_t* string_offset = out.string_offsets.data<int64_t>() + piece.strings_at;
  auto strings = static_cast<int64_t>(piece.strings_at), bytes = static_cast<int64_t>(piece.value_at);
  for (size_t i = piece.begin; i < piece.end; ++i) {
    prefetch(rows, i);
    const StringList list(rows[i]);
    const std::span<const uint8_t> joined = list.bytes();
    const size_t count = list.size();
    // Offsets of rows and strings count from the start of the batch, not of the piece.
    *offset++ = strings;
    for (size_t s = 0; s < count; ++s) *string_offset++ = bytes + static_cast<int64_t>(list.begin_of(s));
    if (!joined.empty()) std::memcpy(to, joined.data(), joined.size());
    to += joined.size();
    strings += static_cast<int64_t>(count);
    bytes += static_cast<int64_t>(joined.size());
  }
}

void collate_dense(const Collation& plan, std::span<const RowBytes> rows, const CollationPiece& piece,
                   BatchField& out) {
  const size_t element = dtype_size(plan.dtype), item = plan.item_bytes();
  uint8_t* to = out.values.buffer.data() + piece.value_at;
  for (size_t i = piece.begin; i < piece.end; ++i, to += plan.row_bytes) {
    prefetch(rows, i);
    const RowBytes row = rows[i];
    if (!row.empty()) std::memcpy(to, row.data(), row.size());
    if (plan.pad) fill(plan.dtype, *plan.pad, to + row.size(), (plan.row_bytes - row.size()) / element);
    if (plan.pads_to_longest) out.lengths[i] = static_cast<int64_t>(item > 0 ? row.size() / item : 0);
  }
}

void collate_ragged(const Collation& plan, std::span<const RowBytes> rows, const CollationPiece& piece,
                    BatchField& out) {
  const size_t item = plan.item_bytes();
  uint8_t* const values = out.values.buffer.data();
  uint8_t* to = values + piece.value_at;
  int64_t* offset = out.offsets.data<int64_t>() + piece.begin;
  for (size_t i = piece.begin; i < piece.end; ++i) {
    prefetch(rows, i);
    const RowBytes row = rows[i];
    if (!row.empty()) std::memcpy(to, row.data(), row.size());
    *offset++ = static_cast<int64_t>(static_cast<size_t>(to - values) / item);
    to += row.size();
  }
}

}  // namespace

Result<Collation> plan_collation(const std::string& name, const Field& field, const std::vector<const Value*>& values,
                                 const SampleOf& sample_of) {
  Collation plan;
  if (values.empty()) {  // every row was skipped
    const bool ragged =
        field.kind == FieldKind::kTensor && !field.pad_value && (field.shape.rank() == 1 || is_ragged(field));
    const bool numbers = field.kind == FieldKind::kTensor || field.kind == FieldKind::kAny;
    plan.kind = numbers && !ragged ? BatchField::Kind::kDense : kind_of_strings(field.kind);
    plan.dtype = field.dtype;
    plan.row_shape = plan.kind == BatchField::Kind::kDense ? field.shape : without_first(field.shape);
    // An axis of unknown length has length 0 if there are no rows.
    for (size_t i = 0; i < plan.row_shape.rank(); ++i) plan.row_shape[i] = std::max<int64_t>(plan.row_shape[i], 0);
    return plan;
  }
  // Python's empty list arrives as an array without elements. Other rows tell the type of list.
  const auto list = std::find_if(values.begin(), values.end(), [](auto* value) { return is_string_list(value->kind); });
  const FieldKind kind = list != values.end() && is_empty_row(*values.front()) ? (*list)->kind : values.front()->kind;
  if (kind == FieldKind::kAny) {
    return with_sample_name(invalid_argument(fmt::format("the user's function did not give the field '{}'", name)),
                            sample_of, 0);
  }
  if (kind == FieldKind::kTensor) return plan_tensors(name, field, values, sample_of);
  plan.kind = kind_of_strings(kind);
  for (size_t i = 0; i < values.size(); ++i) {
    if (plan.string_list() && is_empty_row(*values[i])) continue;
    if (values[i]->kind != kind) return mismatch(name, values, i, sample_of);
    add_strings(plan, values[i]->bytes.span());
  }
  return plan;
}

Result<Collation> plan_collation(const Field& field, std::span<const RowBytes> rows, const SampleOf& sample_of) {
  Collation plan;
  plan.kind = kind_of_strings(field.kind);
  if (plan.string_list()) {
    for (const RowBytes row : rows) add_strings(plan, row);
    return plan;
  }
  size_t total = 0, longest = 0, longest_at = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() > longest) longest_at = i;
    total += rows[i].size();
    longest = std::max(longest, rows[i].size());
  }
  plan.value_bytes = total;
  if (field.kind != FieldKind::kTensor) return plan;
  plan.dtype = field.dtype;
  plan.row_shape = without_first(field.shape);
  if (!field.pad_value) return plan;
  const auto longest_row = static_cast<int64_t>(longest / plan.item_bytes());
  plan.kind = BatchField::Kind::kDense;
  plan.pad = field.pad_value;
  plan.pads_to_longest = field.pad_length == 0;
  FOREBAY_ASSIGN(plan.row_shape, padded_shape(field.name, field, longest_row, plan.row_shape, longest_at, sample_of));
  plan.row_bytes = static_cast<size_t>(plan.row_shape.elements()) * dtype_size(field.dtype);
  plan.value_bytes = plan.row_bytes * rows.size();
  return plan;
}

std::vector<RowBytes> rows_of(const std::vector<const Value*>& values) {
  std::vector<RowBytes> rows;
  rows.reserve(values.size());
  for (const Value* value : values) {
    const Buffer& from = value->kind == FieldKind::kTensor ? value->tensor.buffer : value->bytes;
    rows.emplace_back(from.data(), value->nbytes());
  }
  return rows;
}

std::vector<CollationPiece> cut(const Collation& plan, std::span<const RowBytes> rows, size_t piece_bytes) {
  // A single piece needs no pass over the rows.
  if (plan.nbytes(rows.size()) <= piece_bytes) return {{0, rows.size(), 0, 0}};
  std::vector<CollationPiece> pieces(1);
  size_t value_at = 0, strings = 0;  // before the row
  for (size_t row = 0; row < rows.size(); ++row) {
    if (bytes_before({0, 0, value_at, strings}) - bytes_before(pieces.back()) >= piece_bytes)
      pieces.push_back({row, row, value_at, strings});
    value_at += value_bytes(plan, rows[row]);
    if (plan.string_list()) strings += StringList(rows[row]).size();
    pieces.back().end = row + 1;
  }
  return pieces;
}

BatchField lay_out(const Collation& plan, size_t rows, const CollationMemory& memory) {
  BatchField out;
  const auto count = static_cast<int64_t>(rows);
  out.kind = plan.kind;
  out.values = {plan.dtype, {}, memory.values};
  if (plan.kind == BatchField::Kind::kDense) {
    out.values.shape.push_back(count);
    for (int64_t dim : plan.row_shape) out.values.shape.push_back(dim);
    if (plan.pads_to_longest) out.lengths.resize(rows);
    return out;
  }
  out.values.shape = with_first(static_cast<int64_t>(plan.value_bytes / plan.item_bytes()), plan.row_shape);
  out.offsets = {DType::kInt64, Shape{count + 1}, memory.offsets};
  // Writes the end of the last row. Each piece writes only the beginnings of its own rows, so no
  // two threads write the same place.
  out.offsets.data<int64_t>()[rows] = plan.string_list() ? static_cast<int64_t>(plan.strings) : out.values.shape[0];
  if (!plan.string_list()) return out;
  out.string_offsets = {DType::kInt64, Shape{static_cast<int64_t>(plan.strings) + 1}, memory.string_offsets};
  out.string_offsets.data<int64_t>()[plan.strings] = static_cast<int64_t>(plan.value_bytes);
  return out;
}

void collate(const Collation& plan, std::span<const RowBytes> rows, const CollationPiece& piece, BatchField& out) {
  if (plan.string_list()) return collate_lists(rows, piece, out);
  if (plan.kind == BatchField::Kind::kDense) return collate_dense(plan, rows, piece, out);
  collate_ragged(plan, rows, piece, out);
}

BatchField collate(const Collation& plan, std::span<const RowBytes> rows, const CollationMemory& memory) {
  BatchField out = lay_out(plan, rows.size(), memory);
  collate(plan, rows, {0, rows.size(), 0, 0}, out);
  return out;
}

}  // namespace forebay
