#include "pipeline/block_columns.h"

#include <utility>

#include "pipeline/field_rows.h"

namespace forebay {

namespace {

Field described(const BatchField& of) {
  Field field;
  field.name = of.name;
  field.dtype = of.values.dtype;
  field.shape = of.kind == BatchField::Kind::kRagged ? Shape{Shape::kUnknown} : without_first(of.values.shape);
  return field;
}

}  // namespace

Columns columns_of(std::vector<BatchField> fields, int64_t rows) {
  Columns columns;
  columns.rows = rows;
  for (BatchField& field : fields) {
    columns.schema.push_back(described(field));
    columns.values.push_back({std::move(field.values.buffer), std::move(field.offsets.buffer)});
  }
  return columns;
}

std::vector<BatchField> fields_of(Columns columns) {
  std::vector<BatchField> fields;
  for (size_t i = 0; i < columns.schema.size(); ++i) {
    const Field& is = columns.schema[i];
    ColumnValues& column = columns.values[i];
    BatchField& field = fields.emplace_back();
    field.name = is.name;
    if (is_ragged(is)) {
      // Operators keep offsets that begin at 0, as those of a batch do.
      field.kind = BatchField::Kind::kRagged;
      field.values = {is.dtype, Shape{column.offset()[columns.rows]}, std::move(column.values)};
      field.offsets = {DType::kInt64, Shape{columns.rows + 1}, std::move(column.offsets)};
    } else {
      field.values = {is.dtype, with_first(columns.rows, is.shape), std::move(column.values)};
    }
  }
  return fields;
}

}  // namespace forebay
