#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "ops/column/column.h"
#include "ops/column/number.h"
#include "ops/definition/registry.h"
#include "pipeline/catalog.h"

namespace forebay {
namespace {

// A row mask has one mark per row; an item mask has one per element of a list or a tensor. A null
// list is empty and has nothing to fill.
std::string row_mask(const std::string& field) { return field + "_valid"; }
std::string item_mask(const std::string& field) { return field + "_items_valid"; }

std::string lists_stay(const Field& field) {
  return fmt::format("the field '{}' is {}, which .fill_null leaves as they are", field.name, field.type_word());
}
constexpr const char* kFillBefore = "give its source null= the text that is to stand there, or fill it in .map";

// JSON has no numbers for these.
Json number_of(const Json& value) {
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return value;
}

bool can_hold(const Field& field, const Json& value) {
  if (field.kind != FieldKind::kTensor) return value.is_string();
  return with_element(field.dtype, [&](auto type) { return element_of<decltype(type)>(number_of(value)).has_value(); });
}

bool is_bool(const Field& mask) { return mask.kind == FieldKind::kTensor && mask.dtype == DType::kBool; }

bool marks_rows(const Field& mask) { return is_bool(mask) && mask.shape.rank() == 0; }

bool marks_items(const Field& mask, const Field& field) {
  return is_bool(mask) && field.kind == FieldKind::kTensor && field.shape.rank() > 0 && mask.shape == field.shape;
}

bool some_missing(const Elements& valid) {
  return valid.count > 0 && std::memchr(valid.data, 0, static_cast<size_t>(valid.count)) != nullptr;
}

template <typename T>
void fill_elements(const Elements& in, const uint8_t* valid, int64_t each, T value, uint8_t* out) {
  // One element per mark needs no division.
  if (each == 1) {
    for (int64_t i = 0; i < in.count; ++i) store_element(out, i, valid[i] ? load_element<T>(in.data, i) : value);
    return;
  }
  for (int64_t i = 0; i < in.count; ++i) store_element(out, i, valid[i / each] ? load_element<T>(in.data, i) : value);
}

class FillNull final : public ColumnOp {
 public:
  FillNull(std::vector<std::string> fields, Json value) : fields_(std::move(fields)), value_(std::move(value)) {}

  Status apply(Columns& columns, WorkMemory& memory) const override {
    for (const std::string& name : fields_) {
      const auto field = columns.schema.find(name);
      if (!field) return unsupported(fmt::format("there is no field '{}' here", name));
      FOREBAY_RETURN_IF_ERROR(check(columns.schema, columns.schema[*field]));
      if (const auto mask = columns.schema.find(row_mask(name)))
        FOREBAY_RETURN_IF_ERROR(fill_rows(columns, *field, *mask, memory));
      if (const auto mask = columns.schema.find(item_mask(name)))
        FOREBAY_RETURN_IF_ERROR(fill_items(columns, *field, *mask, memory));
      drop(columns, row_mask(name));
      drop(columns, item_mask(name));
    }
    return {};
  }

 private:
  // infer() has checked the masks, unless user code made them.
  Status check(const Schema& schema, const Field& field) const {
    if (field.string_list()) return unsupported(fmt::format("{}; {}", lists_stay(field), kFillBefore));
    const auto rows = schema.find(row_mask(field.name)), items = schema.find(item_mask(field.name));
    if (!rows && !items) return unsupported(fmt::format("there is no field '{}' here", row_mask(field.name)));
    if ((rows && !marks_rows(schema[*rows])) || (items && !marks_items(schema[*items], field)))
      return unsupported(fmt::format("the mask of the field {} is not a mask", field.to_string()));
    if (can_hold(field, value_)) return {};
    return unsupported(fmt::format("the field {} cannot hold {}", field.to_string(), json_text(value_)));
  }

  static void drop(Columns& columns, const std::string& name) {
    const auto index = columns.schema.find(name);
    if (!index) return;
    columns.schema.erase(*index);
    columns.values.erase(columns.values.begin() + static_cast<std::ptrdiff_t>(*index));
  }

  Status fill_rows(Columns& columns, size_t field, size_t mask, WorkMemory& memory) const {
    const Elements valid = elements(columns, mask);
    // Nothing is missing, or only whole lists are, which are empty: the column is not copied.
    if (!some_missing(valid) || is_ragged(columns.schema[field])) return {};
    if (columns.schema[field].kind != FieldKind::kTensor) return fill_strings(columns, field, valid.data, memory);
    return fill_tensor(columns, field, valid, columns.schema[field].shape.elements(), memory);
  }

  Status fill_items(Columns& columns, size_t field, size_t mask, WorkMemory& memory) const {
    const Elements valid = elements(columns, mask);
    if (valid.count != elements(columns, field).count)
      return unsupported(fmt::format("the mask '{}' has another number of elements", columns.schema[mask].name));
    return some_missing(valid) ? fill_tensor(columns, field, valid, 1, memory) : Status();
  }

  // `each` is the number of elements that share a mark.
  Status fill_tensor(Columns& columns, size_t field, const Elements& valid, int64_t each, WorkMemory& memory) const {
    const DType dtype = columns.schema[field].dtype;
    FOREBAY_RETURN_IF_ERROR(memory.reserve(new_column_bytes(columns, field, dtype)));
    const Elements in = elements(columns, field);
    ColumnValues made = new_column(columns, field, dtype);
    with_element(dtype, [&](auto type) {
      using T = decltype(type);
      fill_elements<T>(in, valid.data, each, *element_of<T>(number_of(value_)), made.values.data());
    });
    replace_column(columns, field, std::move(made), dtype);
    return {};
  }

  Status fill_strings(Columns& columns, size_t field, const uint8_t* valid, WorkMemory& memory) const {
    const ColumnValues& column = columns.values[field];
    const std::string& text = value_.get_ref<const std::string&>();
    uint64_t bytes = 0;
    auto length = [&](int64_t row) {
      return valid[row] ? static_cast<size_t>(column.offset()[row + 1] - column.offset()[row]) : text.size();
    };
    for (int64_t row = 0; row < columns.rows; ++row) bytes += length(row);
    const size_t offset_bytes = static_cast<size_t>(columns.rows + 1) * sizeof(int64_t);
    FOREBAY_RETURN_IF_ERROR(memory.reserve(bytes + offset_bytes));
    ColumnValues made{Buffer::allocate(bytes), Buffer::allocate(offset_bytes)};
    auto* offsets = reinterpret_cast<int64_t*>(made.offsets.data());
    offsets[0] = 0;
    for (int64_t row = 0; row < columns.rows; ++row) {
      const size_t size = length(row);
      const uint8_t* from =
          valid[row] ? column.values.data() + column.offset()[row] : reinterpret_cast<const uint8_t*>(text.data());
      if (size > 0) std::memcpy(made.values.data() + offsets[row], from, size);
      offsets[row + 1] = offsets[row] + static_cast<int64_t>(size);
    }
    columns.values[field] = std::move(made);
    return {};
  }

  std::vector<std::string> fields_;
  Json value_;
};

void check_value(const Args& args, const Field& field, Problems& problems) {
  if (field.kind == FieldKind::kAny || can_hold(field, args.json("value"))) return;
  const bool tensor = field.kind == FieldKind::kTensor;
  problems.add(fmt::format("value is {}, and the field '{}' is {}", json_text(args.json("value")), field.name,
                           field.type_word()),
               tensor ? fmt::format("give a value that it can hold, or put .cast before .fill_null") : "give a text");
}

void check_masks(const Schema& schema, const Field& field, Problems& problems) {
  const auto rows = schema.find(row_mask(field.name)), items = schema.find(item_mask(field.name));
  if (!rows && !items) {
    return problems.add(fmt::format("the field '{}' came without the mask '{}'", field.name, row_mask(field.name)),
                        "give its source null=fb.NULL_MASK, or take it out of .fill_null");
  }
  const auto check = [&](std::optional<size_t> mask, bool good, const char* way) {
    if (!mask || field.kind == FieldKind::kAny || schema[*mask].kind == FieldKind::kAny || good) return;
    problems.add(fmt::format("{} is no mask of {}", schema[*mask].to_string(), field.to_string()), way);
  };
  check(rows, rows && marks_rows(schema[*rows]), "a mask of rows is one bool in each");
  check(items, items && marks_items(schema[*items], field),
        "a mask of elements is bool, and as many as there are elements");
}

void infer_fill_null(const Args& args, Schema& schema, Problems& problems) {
  const std::vector<std::string> names = args.names("field");
  if (names.empty()) problems.add("no field is named", "name a column, or a list of them");
  for (const size_t index : check_fields(names, schema, problems)) {
    if (schema[index].string_list()) {
      problems.add(lists_stay(schema[index]), kFillBefore);
      continue;
    }
    check_value(args, schema[index], problems);
    check_masks(schema, schema[index], problems);
  }
  for (const std::string& name : names) {
    for (const std::string& mask : {row_mask(name), item_mask(name)}) {
      if (const auto index = schema.find(mask)) schema.erase(*index);
    }
  }
}

Result<std::unique_ptr<ColumnOp>> compile_fill_null(const Args& args, const Schema&) {
  return std::unique_ptr<ColumnOp>(std::make_unique<FillNull>(args.names("field"), args.json("value")));
}

FieldUse fill_null_uses(const OpSpec& spec, const Schema&) {
  FieldUse use;
  if (const auto field = spec.args.find("field"); field != spec.args.end()) use.makes = field_list(*field);
  use.reads = use.makes;
  for (const std::string& name : use.makes) {
    for (const std::string& mask : {row_mask(name), item_mask(name)}) use.optional.push_back(mask);
  }
  return use;
}

}  // namespace

OpDef fill_null_op() {
  return make_op(
      {.name = "fill_null",
       .group = OpGroup::kColumn,
       .help = "Puts a value where a table had nulls, and drops the masks: for columns read with `null=fb.NULL_MASK`.",
       .args = {{"value", ArgType::kScalar, true, nullptr,
                 "a number that the column's type can hold, a bool, or a text (for columns of bytes: UTF-8 bytes). It "
                 "stands where `<field>_valid` or, for elements of lists and tensors, `<field>_items_valid` is false; "
                 "a list that is null stays an empty one."},
                column_arg("a column with a mask, or a list of them")},
       .infer = infer_fill_null,
       .compile_columns = compile_fill_null,
       .uses = fill_null_uses});
}

}  // namespace forebay
