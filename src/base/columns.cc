#include "base/columns.h"

#include <cstring>

#include <fmt/format.h>

#include "forebay/string_list.h"

namespace forebay {

namespace {

Value row_of(const Field& field, const ColumnValues& column, int64_t row) {
  if (field.fixed_shape()) {
    const size_t bytes = row_bytes(field);
    return value_of_row(field, column.values.slice(static_cast<size_t>(row) * bytes, bytes));
  }
  const auto begin = static_cast<size_t>(column.offset()[row]), end = static_cast<size_t>(column.offset()[row + 1]);
  const size_t item = item_bytes(field);
  return value_of_row(field, column.values.slice(begin * item, (end - begin) * item));
}

// Whether a value is a row of a ragged field. User code may give another one.
bool is_row_of(const Field& field, const Value& value) {
  const Shape shape = value.shape();
  if (!is_ragged(field) || shape.rank() != field.shape.rank()) return false;
  for (size_t axis = 1; axis < shape.rank(); ++axis) {
    if (shape[axis] != field.shape[axis]) return false;
  }
  return true;
}

Status wrong(const Field& field, const std::string& what) {
  return internal_error(fmt::format("the column '{}' {}", field.name, what));
}

Status check_lists(const Field& field, const ColumnValues& column, int64_t rows) {
  for (int64_t row = 0; row < rows; ++row) {
    const auto begin = static_cast<size_t>(column.offset()[row]), end = static_cast<size_t>(column.offset()[row + 1]);
    if (!StringList::is_valid(column.values.span().subspan(begin, end - begin)))
      return wrong(field, fmt::format("has a row that is no list of strings: {}", row));
  }
  return {};
}

Status check_column(const Field& field, const ColumnValues& column, int64_t rows) {
  const auto n = static_cast<uint64_t>(rows);
  if (field.fixed_shape()) {
    const uint64_t each = row_bytes(field);
    // Divides instead of multiplying, because counts from outside must not overflow. `each` is 0
    // for a shape with a 0, whose rows take no bytes.
    if (each != 0 && column.values.size() / each < n) return wrong(field, "has fewer values than rows");
    return {};
  }
  if (field.kind == FieldKind::kAny || (field.kind == FieldKind::kTensor && !is_ragged(field)))
    return wrong(field, "is of no kind that a column can hold: " + field.to_string());
  if (column.offsets.size() / sizeof(int64_t) < n + 1) return wrong(field, "has fewer offsets than rows");
  const uint64_t each = item_bytes(field);
  // row_of() relies on exactly these checks: no slice leaves the values.
  int64_t before = column.offset()[0];
  if (before < 0) return wrong(field, "has a negative offset");
  for (int64_t row = 1; row <= rows; ++row) {
    const int64_t offset = column.offset()[row];
    if (offset < before) return wrong(field, fmt::format("has offsets that fall at row {}", row - 1));
    before = offset;
  }
  if (static_cast<uint64_t>(before) > column.values.size() / each) return wrong(field, "has offsets behind its values");
  return field.string_list() ? check_lists(field, column, rows) : Status();
}

void hash_column(Hasher& hasher, const Field& field, const ColumnValues& column, int64_t rows) {
  const std::string type = field.to_string();
  hasher.update_value(static_cast<uint64_t>(type.size()));
  hasher.update(type);
  if (field.fixed_shape()) return hasher.update(column.values.data(), static_cast<size_t>(rows) * row_bytes(field));
  const size_t each = item_bytes(field);
  const int64_t* const offset = column.offset();
  // Hashes lengths and not offsets, because offsets may begin anywhere. Hashes them before the
  // values, so that "ab", "c" and "a", "bc" differ.
  for (int64_t row = 0; row < rows; ++row) hasher.update_value(offset[row + 1] - offset[row]);
  if (rows == 0) return;
  hasher.update(column.values.data() + static_cast<size_t>(offset[0]) * each,
                static_cast<size_t>(offset[rows] - offset[0]) * each);
}

}  // namespace

bool is_ragged(const Field& field) {
  if (field.kind != FieldKind::kTensor || field.shape.fully_known()) return false;
  if (field.shape.rank() == 1) return true;
  if (field.image && !is_picture_list(field)) return false;
  if (field.sound != SoundForm::kNone || field.shape[0] != Shape::kUnknown) return false;
  for (size_t axis = 1; axis < field.shape.rank(); ++axis) {
    if (field.shape[axis] <= 0) return false;
  }
  return true;
}

size_t item_bytes(const Field& field) {
  if (field.kind != FieldKind::kTensor) return 1;
  size_t bytes = dtype_size(field.dtype);
  for (size_t axis = 1; axis < field.shape.rank(); ++axis) bytes *= static_cast<size_t>(field.shape[axis]);
  return bytes;
}

Value value_of_row(const Field& field, Buffer bytes) {
  if (field.kind != FieldKind::kTensor) return {field.kind, {}, std::move(bytes), nullptr};
  Shape shape = field.shape;
  if (!field.fixed_shape()) shape[0] = static_cast<int64_t>(bytes.size() / item_bytes(field));
  return Value::of({field.dtype, shape, std::move(bytes)});
}

Value Columns::value(size_t column, int64_t row) const { return row_of(schema[column], values[column], row); }

uint64_t Columns::nbytes() const {
  uint64_t bytes = 0;
  for (const ColumnValues& column : values) bytes += column.values.size() + column.offsets.size();
  return bytes;
}

Record Columns::row(int64_t row) const {
  Record record;
  record.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) record.push_back(row_of(schema[i], values[i], row));
  return record;
}

Status Columns::check() const {
  if (rows < 0) return internal_error("columns with a negative number of rows");
  if (values.size() != schema.size()) return internal_error("columns that do not go with their schema");
  for (size_t i = 0; i < values.size(); ++i) FOREBAY_RETURN_IF_ERROR(check_column(schema[i], values[i], rows));
  return {};
}

Hash128 content_hash(const Columns& columns) {
  Hasher hasher;
  hasher.update_value(columns.rows);
  hasher.update_value(static_cast<uint64_t>(columns.values.size()));
  for (size_t i = 0; i < columns.values.size(); ++i)
    hash_column(hasher, columns.schema[i], columns.values[i], columns.rows);
  for (const auto& [row, status] : columns.bad_rows ? *columns.bad_rows : std::map<int64_t, Status>()) {
    hasher.update_value(row);
    hasher.update(status.to_string());
  }
  return hasher.digest();
}

Result<Columns> columns_of(const Schema& schema, const Record& record) {
  Columns columns;
  columns.schema = schema;
  columns.rows = 1;
  for (size_t i = 0; i < schema.size(); ++i) {
    Field& field = columns.schema[i];
    const Value& value = record[i];
    const bool tensor = value.kind == FieldKind::kTensor;
    if (value.deferred || value.kind == FieldKind::kAny)
      return invalid_argument(fmt::format("the field '{}' has no value that could be kept", field.name));
    field.kind = value.kind;
    if (tensor) field.dtype = value.dtype();
    if (tensor && !is_row_of(field, value)) field.shape = value.shape();
    const Buffer& bytes = tensor ? value.tensor.buffer : value.bytes;
    ColumnValues column{bytes, {}};
    if (!field.fixed_shape()) {
      const size_t each = item_bytes(field);
      column.offsets = Buffer::allocate(2 * sizeof(int64_t));
      const int64_t ends[2] = {0, static_cast<int64_t>(bytes.size() / each)};
      std::memcpy(column.offsets.data(), ends, sizeof ends);
    }
    columns.values.push_back(std::move(column));
  }
  return columns;
}

uint64_t retained_bytes(const Columns& rows, const Buffer& memory) {
  uint64_t other_bytes = 0;
  bool is_shared = false;
  for (const ColumnValues& column : rows.values) {
    for (const Buffer* part : {&column.values, &column.offsets}) {
      const bool is_view = memory.owner() && part->owner() == memory.owner();
      is_shared |= is_view;
      if (!is_view) other_bytes += part->size();
    }
  }
  return other_bytes + (is_shared ? memory.size() : 0);
}

}  // namespace forebay
