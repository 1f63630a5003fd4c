#include "ops/column/column.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "ops/definition/element_types.h"

namespace forebay {
namespace {

bool is_string(const Field& field) { return field.kind == FieldKind::kBytes || field.kind == FieldKind::kText; }

bool accepts(const Field& field, ColumnNeed need) {
  if (field.kind != FieldKind::kTensor) return need == ColumnNeed::kKeys && is_string(field);
  switch (need) {
    case ColumnNeed::kNumbers: return field.dtype != DType::kBool;
    case ColumnNeed::kNumbersAndBool: return true;
    case ColumnNeed::kKeys: return !is_floating(field.dtype);
  }
  return true;
}

std::string_view need_words(ColumnNeed need) {
  return need == ColumnNeed::kKeys ? "integers, bytes or text" : "numbers";
}

std::string remedy(const Field& field, ColumnNeed need, std::string_view op) {
  if (field.kind == FieldKind::kTensor) {
    return fmt::format("put .cast(\"{}\", field=\"{}\") before .{}", need == ColumnNeed::kKeys ? "int64" : "uint8",
                       field.name, op);
  }
  if (field.string_list()) return string_list_remedy(field, op);
  if (field.kind == FieldKind::kBytes && (field.image || field.name == "image" || field.name == "bytes"))
    return fmt::format("put .decode_image() before .{}", op);
  return "name a column of numbers; .hash_bucket makes numbers of text and bytes";
}

}  // namespace

ArgDef column_arg(std::string help, ArgForm form) {
  return {"field", ArgType::kFields, true, nullptr, std::move(help), form};
}

std::vector<size_t> check_columns(const std::vector<std::string>& names, ColumnNeed need, std::string_view op,
                                  const Schema& schema, Problems& problems) {
  if (names.empty()) problems.add("no field is named", "name a column, or a list of them");
  std::vector<size_t> fields;
  for (const size_t index : check_fields(names, schema, problems)) {
    const Field& field = schema[index];
    if (std::find(fields.begin(), fields.end(), index) != fields.end()) {
      problems.add(fmt::format("the field '{}' is named twice", field.name), "name it once");
    } else if (field.kind != FieldKind::kAny && !accepts(field, need)) {
      problems.add(
          fmt::format("the field '{}' is {}, and .{} works on {}", field.name, field.type_word(), op, need_words(need)),
          remedy(field, need, op));
    } else {
      fields.push_back(index);
    }
  }
  return fields;
}

Result<size_t> find_column(const Columns& columns, const std::string& name, ColumnNeed need) {
  const auto index = columns.schema.find(name);
  if (!index) return unsupported(fmt::format("there is no field '{}' here", name));
  const Field& field = columns.schema[*index];
  if (!accepts(field, need))
    return unsupported(fmt::format("the field '{}' is {}; {} are needed", name, field.type_word(), need_words(need)));
  return *index;
}

Elements elements(const Columns& columns, size_t field) {
  const Field& is = columns.schema[field];
  const ColumnValues& column = columns.values[field];
  if (is.fixed_shape()) return {column.values.data(), columns.rows * is.shape.elements()};
  const auto item = static_cast<int64_t>(item_bytes(is)), size = static_cast<int64_t>(dtype_size(is.dtype));
  const int64_t begin = column.offset()[0], end = column.offset()[columns.rows];
  return {column.values.data() + begin * item, (end - begin) * (item / size)};
}

uint64_t new_column_bytes(const Columns& columns, size_t field, DType dtype) {
  const Field& is = columns.schema[field];
  if (is_string(is)) return static_cast<uint64_t>(columns.rows) * dtype_size(dtype);
  const uint64_t bytes = static_cast<uint64_t>(elements(columns, field).count) * dtype_size(dtype);
  const bool moves = is_ragged(is) && columns.values[field].offset()[0] != 0;
  return bytes + (moves ? static_cast<uint64_t>(columns.rows + 1) * sizeof(int64_t) : 0);
}

ColumnValues new_column(const Columns& columns, size_t field, DType dtype) {
  const Field& is = columns.schema[field];
  const int64_t count = is_string(is) ? columns.rows : elements(columns, field).count;
  ColumnValues made{Buffer::allocate(static_cast<size_t>(count) * dtype_size(dtype)), {}};
  if (!is_ragged(is)) return made;
  const ColumnValues& column = columns.values[field];
  const int64_t first = column.offset()[0];
  // Offsets that begin at 0 are shared. Columns cut out of larger ones begin elsewhere, but new
  // elements begin at 0.
  made.offsets = column.offsets;
  if (first == 0) return made;
  made.offsets = Buffer::allocate(static_cast<size_t>(columns.rows + 1) * sizeof(int64_t));
  auto* offsets = reinterpret_cast<int64_t*>(made.offsets.data());
  for (int64_t row = 0; row <= columns.rows; ++row) offsets[row] = column.offset()[row] - first;
  return made;
}

void replace_column(Columns& columns, size_t field, ColumnValues made, DType dtype) {
  Field& is = columns.schema[field];
  if (is_string(is)) is.shape = Shape{};
  is.kind = FieldKind::kTensor;
  is.dtype = dtype;
  columns.values[field] = std::move(made);
}

void mark_bad(Columns& columns, BadRows bad) {
  if (bad.empty()) return;
  BadRows all = columns.bad_rows ? *columns.bad_rows : BadRows();
  all.merge(std::move(bad));
  columns.bad_rows = std::make_shared<const BadRows>(std::move(all));
}

Status ElementwiseOp::apply(Columns& columns, WorkMemory& memory) const {
  std::vector<size_t> found;
  uint64_t bytes = 0;
  for (const std::string& name : fields_) {
    FOREBAY_ASSIGN(const size_t field, find_column(columns, name, need_));
    found.push_back(field);
    FOREBAY_RETURN_IF_ERROR(check_field(columns.schema[field]));
    // Reserves memory for all fields before the first is computed, so a lack of memory leaves every
    // column unchanged.
    if (const auto dtype = output_dtype(columns.schema[field])) bytes += new_column_bytes(columns, field, *dtype);
  }
  FOREBAY_RETURN_IF_ERROR(memory.reserve(bytes));
  for (size_t number = 0; number < found.size(); ++number) {
    const size_t field = found[number];
    const auto dtype = output_dtype(columns.schema[field]);
    if (!dtype) continue;
    ColumnValues made = new_column(columns, field, *dtype);
    make(number, columns, field, made.values.data());
    mark_bad(columns, bad_rows(columns, field));
    replace_column(columns, field, std::move(made), *dtype);
  }
  return {};
}

}  // namespace forebay
