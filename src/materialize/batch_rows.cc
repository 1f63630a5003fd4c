#include "materialize/batch_rows.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include <fmt/format.h>

#include "forebay/string_list.h"

namespace forebay {

namespace {

FieldKind kind_of(const BatchField& field) {
  switch (field.kind) {
    case BatchField::Kind::kBytes: return FieldKind::kBytes;
    case BatchField::Kind::kText: return FieldKind::kText;
    case BatchField::Kind::kBytesList: return FieldKind::kBytesList;
    case BatchField::Kind::kTextList: return FieldKind::kTextList;
    default: return FieldKind::kTensor;
  }
}

// Shape of one row without the padding of its batch.
Shape shape_of_row(const BatchField& field, int64_t row) {
  Shape shape;
  const Shape& all = field.values.shape;
  if (field.kind == BatchField::Kind::kRagged) {
    const int64_t* offsets = field.offsets.data<int64_t>();
    shape.push_back(offsets[row + 1] - offsets[row]);
  }
  for (size_t i = 1; i < all.rank(); ++i) shape.push_back(all[i]);
  // Padding belongs to the batch, not to the sample.
  if (!field.lengths.empty()) shape[0] = field.lengths[static_cast<size_t>(row)];
  return shape;
}

constexpr size_t kLargeBlock = 16 << 10;             // from this size on, memory is reused
constexpr size_t kMaxBlockBytes = size_t{64} << 20;  // limit if rows differ much in size: a shard
constexpr int64_t kMaxBlockRows = 1 << 20;

// Packs a list of strings into one value.
Result<Buffer> run_of(const BatchField& field, int64_t row) {
  const int64_t* offsets = field.offsets.data<int64_t>();
  std::vector<std::string_view> strings;
  for (int64_t i = offsets[row]; i < offsets[row + 1]; ++i) {
    const std::span<const uint8_t> string = field.string(i);
    strings.emplace_back(reinterpret_cast<const char*>(string.data()), string.size());
  }
  FOREBAY_ASSIGN(const Tensor packed, StringList::pack(strings));
  return packed.buffer.slice(0, packed.nbytes());
}

Result<const BatchField*> find_in(const Batch& batch, const Field& field) {
  if (const BatchField* found = batch.find(field.name)) return found;
  return invalid_argument(fmt::format(
      "the field '{}' is missing in the samples from id {} on, and others have it; give all samples the same fields",
      field.name, batch.ids.empty() ? 0 : batch.ids.front()));
}

}  // namespace

Columns with_ids(Columns columns, const std::vector<StoredField>& fields, int64_t first_id) {
  Columns all;
  all.rows = columns.rows;
  Buffer ids = Buffer::allocate(static_cast<size_t>(columns.rows) * sizeof(int64_t));
  for (int64_t row = 0; row < columns.rows; ++row) reinterpret_cast<int64_t*>(ids.data())[row] = first_id + row;
  Field id;
  id.name = "id", id.dtype = DType::kInt64;
  all.schema.push_back(std::move(id));
  all.values.push_back({std::move(ids), {}});
  for (const StoredField& stored : fields) {
    all.schema.push_back(stored.field);
    all.values.push_back(std::move(columns.values[*columns.schema.find(stored.field.name)]));
  }
  return all;
}

Field field_of(const BatchField& from) {
  Field field;
  field.name = from.name;
  field.kind = kind_of(from);
  if (field.kind != FieldKind::kTensor) return field;
  field.dtype = from.values.dtype;
  if (from.kind == BatchField::Kind::kRagged) field.shape.push_back(Shape::kUnknown);
  for (size_t i = 1; i < from.values.shape.rank(); ++i) field.shape.push_back(Shape::kUnknown);
  return field;
}

// A new block has space for all remaining rows, assuming that they have this size.
Result<Buffer> RowCopier::copy_to(Block& block, std::span<const uint8_t> bytes) const {
  if (bytes.size() > block.memory.size() - block.used || block.memory.empty()) {
    const auto left = static_cast<size_t>(std::clamp<int64_t>(rows_ - block.rows, 1, kMaxBlockRows));
    const size_t wanted = std::max(bytes.size(), std::min(bytes.size() * left, kMaxBlockBytes));
    FOREBAY_ASSIGN(block.memory, allocate_buffer(wanted < kLargeBlock ? BufferAllocator() : memory_, wanted));
    block.used = 0;
  }
  Buffer copy = block.memory.slice(block.used, bytes.size());
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  block.used += bytes.size();
  ++block.rows;
  return copy;
}

Result<Record> RowCopier::copy(const Batch& batch, int64_t row) {
  Record record;
  for (size_t i = 0; i < fields_.size(); ++i) {
    FOREBAY_ASSIGN(const BatchField* const from, find_in(batch, fields_[i].field));
    const FieldKind kind = kind_of(*from);
    if (from->string_list()) {
      FOREBAY_ASSIGN(Buffer run, run_of(*from, row));
      record.push_back(Value::of_list(kind, std::move(run)));
      continue;
    }
    FOREBAY_ASSIGN(Buffer bytes, copy_to(blocks_[i], from->row(row)));
    if (kind == FieldKind::kTensor) {
      record.push_back(Value::of(Tensor{from->values.dtype, shape_of_row(*from, row), std::move(bytes)}));
    } else {
      record.push_back({kind, {}, std::move(bytes), nullptr});
    }
  }
  return record;
}

Status RowJoiner::add_field(const BatchField& from, const Field& field, int64_t begin, int64_t end, GrowingColumn& to) {
  const FieldKind kind = kind_of(from);
  if (kind != field.kind || (kind == FieldKind::kTensor && from.values.dtype != field.dtype))
    return invalid_argument(fmt::format("the field '{}' is of another type than in the other samples", field.name));
  const bool fixed = field.fixed_shape();
  for (int64_t row = begin; row < end; ++row) {
    if (from.string_list()) {
      FOREBAY_ASSIGN(const Buffer run, run_of(from, row));
      to.values.insert(to.values.end(), run.data(), run.data() + run.size());
    } else {
      const std::span<const uint8_t> bytes = from.row(row);
      to.values.insert(to.values.end(), bytes.begin(), bytes.end());
    }
    if (fixed && !(shape_of_row(from, row) == field.shape))
      return invalid_argument(fmt::format("the field '{}' has another shape than in the other samples", field.name));
    if (fixed) continue;
    to.offsets.push_back(static_cast<int64_t>(to.values.size() / item_bytes(field)));
  }
  return {};
}

Status RowJoiner::add(const Batch& batch, int64_t begin, int64_t end) {
  for (size_t i = 0; i < fields_.size(); ++i) {
    FOREBAY_ASSIGN(const BatchField* const from, find_in(batch, fields_[i].field));
    FOREBAY_RETURN_IF_ERROR(add_field(*from, fields_[i].field, begin, end, columns_[i]));
  }
  rows_ += end - begin;
  return {};
}

Columns RowJoiner::take(int64_t first_id) {
  const auto as_buffer = [](auto& values) {
    const size_t bytes = values.size() * sizeof(values[0]);
    const auto kept = std::make_shared<std::remove_reference_t<decltype(values)>>(std::move(values));
    return Buffer(reinterpret_cast<uint8_t*>(kept->data()), bytes, kept);
  };
  Columns columns;
  columns.rows = rows_;
  for (size_t i = 0; i < fields_.size(); ++i) {
    const Field& field = fields_[i].field;
    columns.schema.push_back(field);
    columns.values.push_back(
        {as_buffer(columns_[i].values), field.fixed_shape() ? Buffer() : as_buffer(columns_[i].offsets)});
    columns_[i] = GrowingColumn();
  }
  rows_ = 0;
  return with_ids(std::move(columns), fields_, first_id);
}

}  // namespace forebay
