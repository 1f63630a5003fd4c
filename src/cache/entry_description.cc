#include "cache/entry_description.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace forebay {

namespace {

// Keeps the bytes of rows + 1 offsets from overflowing; no entry comes near it.
constexpr int64_t kMostRows = int64_t{1} << 48;
// Size of the smallest field in a description.
constexpr uint64_t kLeastFieldBytes = 32;
constexpr uint64_t kLeastBadRowBytes = 20;
// Stored on disk, so numbers are only added. Other properties of a field (such as a sound's rate)
// come from the plan.
enum FieldFlags : uint8_t {
  kFetched = 1,
  kImage = 2,
  kChannelsFirst = 4,
  kLayoutChosen = 8,
  kNormalized = 16,
  kPads = 32
};

Status bad(std::string_view what) { return corrupt(fmt::format("the kept entry's description {}", what)); }

void put_field(ByteWriter& out, const Field& field) {
  out.put_text(field.name);
  out.put(static_cast<uint8_t>(field.kind));
  out.put(static_cast<uint8_t>(field.dtype));
  out.put(static_cast<uint8_t>((field.fetched ? kFetched : 0) | (field.image ? kImage : 0) |
                               (field.channels_first ? kChannelsFirst : 0) | (field.layout_chosen ? kLayoutChosen : 0) |
                               (field.normalized ? kNormalized : 0) | (field.pad_value ? kPads : 0)));
  out.put(static_cast<uint8_t>(field.shape.rank()));
  for (const int64_t dim : field.shape) out.put(dim);
  out.put(field.pad_value.value_or(0));
  out.put(field.pad_length);
}

Result<Field> take_field(ByteReader& in) {
  Field field;
  field.name = in.take_text();
  const auto kind = in.take<uint8_t>(), dtype = in.take<uint8_t>(), flags = in.take<uint8_t>(),
             rank = in.take<uint8_t>();
  // Checked before the conversion to enums, because an invalid value would be undefined.
  if (kind > static_cast<uint8_t>(FieldKind::kTextList) || dtype >= kDTypeCount || rank > Shape::kMaxRank) {
    return bad("has a field of no known type");
  }
  field.kind = static_cast<FieldKind>(kind);
  field.dtype = static_cast<DType>(dtype);
  field.fetched = flags & kFetched;
  field.image = flags & kImage;
  field.channels_first = flags & kChannelsFirst;
  field.layout_chosen = flags & kLayoutChosen;
  field.normalized = flags & kNormalized;
  for (uint8_t i = 0; i < rank; ++i) field.shape.push_back(in.take<int64_t>());
  const auto pad_value = in.take<double>();
  if (flags & kPads) field.pad_value = pad_value;
  field.pad_length = in.take<int64_t>();
  for (const int64_t dim : field.shape) {
    if (dim < Shape::kUnknown) return bad("has a negative dimension");
  }
  if (field.kind == FieldKind::kTensor && !field.shape.fully_known() && !is_ragged(field))
    return bad("has a field of unknown shape");
  return field;
}

void put_block(ByteWriter& out, const StoredBlock& block) {
  out.put(block.offset);
  out.put(block.stored_bytes);
  out.put(block.packed_bytes);
  out.put(block.bytes);
  out.put(static_cast<uint8_t>(block.compression));
}

Result<StoredBlock> take_block(ByteReader& in, uint64_t entry_bytes) {
  StoredBlock block;
  block.offset = in.take<uint64_t>();
  block.stored_bytes = in.take<uint64_t>();
  block.packed_bytes = in.take<uint64_t>();
  block.bytes = in.take<uint64_t>();
  const auto compression = in.take<uint8_t>();
  if (compression > static_cast<uint8_t>(Compression::kLz4)) return bad("names a compression that is not known");
  block.compression = static_cast<Compression>(compression);
  if (block.offset > entry_bytes || block.stored_bytes > entry_bytes - block.offset || block.offset % 64 != 0)
    return bad("has a block outside of the entry");
  if (block.compression == Compression::kNone
          ? block.bytes != block.stored_bytes
          : block.packed_bytes > block.stored_bytes || block.bytes / kMaxExpansion > block.stored_bytes) {
    // Divided rather than multiplied, because `bytes` may be any number here. This bounds the
    // memory that unpack() allocates.
    return bad("has a block of impossible length");
  }
  return block;
}

/// Returns the bytes of one row, or of one item of a ragged row; nothing if the number is no size.
std::optional<uint64_t> bytes_of_row(const Field& field) {
  uint64_t bytes = dtype_size(field.dtype);
  for (const int64_t dim : field.shape) {
    if (dim == Shape::kUnknown) continue;
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) return std::nullopt;
  }
  return bytes > INT64_MAX ? std::nullopt : std::optional(bytes);
}

Status check_lengths(const Field& field, const StoredColumn& column, int64_t rows) {
  if (is_ragged(field) && !bytes_of_row(field)) return bad("has items of impossible size");
  if (!field.fixed_shape()) {
    // Columns::check() verifies after unpacking that offsets rise and end within the values.
    const uint64_t wanted = (static_cast<uint64_t>(rows) + 1) * sizeof(int64_t);
    return column.offsets.bytes == wanted ? Status() : bad("has offsets that are not one for each row");
  }
  const std::optional<uint64_t> each = bytes_of_row(field);
  uint64_t wanted = 0;
  if (!each || __builtin_mul_overflow(*each, static_cast<uint64_t>(rows), &wanted) || column.values.bytes != wanted ||
      column.offsets.bytes != 0) {
    return bad("has values that do not fit the shape");
  }
  return {};
}

Status put_bad_row(ByteWriter& out, int64_t row, const Status& status) {
  // A payload is an exception of user code, an object of another language; an entry contains no
  // code.
  if (status.payload() || status.code() == Code::kOk)
    return unsupported("a row's error is an exception of user code, which cannot be kept");
  out.put(row);
  out.put(static_cast<uint8_t>(status.code()));
  out.put_text(status.message());
  out.put_text(status.key());
  out.put_text(status.op());
  out.put(static_cast<uint8_t>((status.sample() ? 1 : 0) | (status.range() ? 2 : 0)));
  if (status.sample()) out.put(*status.sample());
  if (status.range()) {
    out.put(status.range()->offset);
    out.put(status.range()->length);
  }
  return {};
}

Status take_bad_row(ByteReader& in, int64_t rows, std::map<int64_t, Status>& found) {
  const auto row = in.take<int64_t>();
  const auto code = in.take<uint8_t>();
  std::string message = in.take_text(), key = in.take_text(), op = in.take_text();
  const auto has = in.take<uint8_t>();
  if (!in.ok() || row < 0 || row >= rows || code == 0 || code > static_cast<uint8_t>(Code::kInternal))
    return bad("has an invalid bad row");
  Status status(static_cast<Code>(code), std::move(message));
  if (!key.empty()) status = std::move(status).with_key(std::move(key));
  if (!op.empty()) status = std::move(status).with_operator(std::move(op));
  if (has & 1) status = std::move(status).with_sample(in.take<int64_t>());
  if (has & 2) {
    const auto offset = in.take<uint64_t>(), length = in.take<uint64_t>();
    status = std::move(status).with_range({offset, length});
  }
  found.emplace(row, std::move(status));
  return {};
}

}  // namespace

Result<std::string> EntryDescription::to_bytes() const {
  ByteWriter out;
  out.put(rows);
  out.put(static_cast<uint32_t>(schema.size()));
  out.put(static_cast<uint32_t>(bad_rows ? bad_rows->size() : 0));
  for (size_t i = 0; i < schema.size(); ++i) {
    put_field(out, schema[i]);
    put_block(out, columns[i].values);
    put_block(out, columns[i].offsets);
  }
  if (bad_rows) {
    for (const auto& [row, status] : *bad_rows) FOREBAY_RETURN_IF_ERROR(put_bad_row(out, row, status));
  }
  return out.bytes();
}

Result<EntryDescription> EntryDescription::from_bytes(std::string_view bytes, uint64_t entry_bytes) {
  ByteReader in(bytes);
  EntryDescription result;
  result.rows = in.take<int64_t>();
  const auto fields = in.take<uint32_t>(), bad_rows = in.take<uint32_t>();
  if (!in.ok() || result.rows < 0 || result.rows > kMostRows) return bad("has an impossible number of rows");
  // Checked before memory is allocated for them: a short description cannot have many.
  if (fields > in.left() / kLeastFieldBytes || bad_rows > in.left() / kLeastBadRowBytes)
    return bad("claims more than it holds");
  // Overlapping blocks would unpack to more than was read.
  uint64_t left = entry_bytes;
  for (uint32_t i = 0; i < fields; ++i) {
    FOREBAY_ASSIGN(Field field, take_field(in));
    StoredColumn column;
    FOREBAY_ASSIGN(column.values, take_block(in, entry_bytes));
    FOREBAY_ASSIGN(column.offsets, take_block(in, entry_bytes));
    if (!in.ok()) return bad("ends too early");
    for (const StoredBlock& block : {column.values, column.offsets}) {
      if (block.stored_bytes > left) return bad("has blocks that overlap");
      left -= block.stored_bytes;
    }
    FOREBAY_RETURN_IF_ERROR(check_lengths(field, column, result.rows));
    result.schema.push_back(std::move(field));
    result.columns.push_back(column);
  }
  if (bad_rows > 0) {
    auto found = std::make_shared<std::map<int64_t, Status>>();
    for (uint32_t i = 0; i < bad_rows; ++i) FOREBAY_RETURN_IF_ERROR(take_bad_row(in, result.rows, *found));
    result.bad_rows = std::move(found);
  }
  if (!in.ok()) return bad("ends too early");
  return result;
}

}  // namespace forebay
