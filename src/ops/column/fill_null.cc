#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "ops/column/column.h"
#include "ops/column/number.h"
#include "ops/registry.h"
#include "pipeline/catalog.h"

namespace forebay {
namespace {

std::string mask_name(const std::string& field) { return field + "_valid"; }

// JSON has no words for these.
Json number_of(const Json& value) {
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return value;
}

bool holds(const Field& field, const Json& value) {
  if (field.kind != FieldKind::kTensor) return value.is_string();
  return with_element(field.dtype, [&](auto type) { return element_of<decltype(type)>(number_of(value)).has_value(); });
}

// One mark for each row, or for each element of it.
bool marks(const Field& mask, const Field& field) {
  if (mask.kind != FieldKind::kTensor || mask.dtype != DType::kBool) return false;
  if (field.kind != FieldKind::kTensor) return mask.shape.rank() == 0;
  return mask.shape == field.shape || (mask.shape.rank() == 0 && field.shape.fully_known());
}

template <typename T>
void fill_elements(const Elements& in, const uint8_t* valid, int64_t each, T value, uint8_t* out) {
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
      const auto field = columns.schema.find(name), mask = columns.schema.find(mask_name(name));
      if (!field || !mask)
        return unsupported(fmt::format("there is no field '{}' here", field ? mask_name(name) : name));
      FOREBAY_RETURN_IF_ERROR(check(columns.schema[*field], columns.schema[*mask]));
      const Elements valid = elements(columns, *mask);
      if (valid.count > 0 && std::memchr(valid.data, 0, static_cast<size_t>(valid.count)) != nullptr) {
        const bool tensor = columns.schema[*field].kind == FieldKind::kTensor;
        FOREBAY_RETURN_IF_ERROR(tensor ? fill_tensor(columns, *field, valid, memory)
                                       : fill_strings(columns, *field, valid.data, memory));
      }
      columns.schema.erase(*mask);
      columns.values.erase(columns.values.begin() + static_cast<std::ptrdiff_t>(*mask));
    }
    return {};
  }

 private:
  // infer() has seen them, unless user code made them.
  Status check(const Field& field, const Field& mask) const {
    if (!marks(mask, field))
      return unsupported(fmt::format("the field {} is no mask of {}", mask.to_string(), field.to_string()));
    if (holds(field, value_)) return {};
    return unsupported(fmt::format("the field {} cannot hold {}", field.to_string(), value_.dump()));
  }

  Status fill_tensor(Columns& columns, size_t field, const Elements& valid, WorkMemory& memory) const {
    const DType dtype = columns.schema[field].dtype;
    FOREBAY_RETURN_IF_ERROR(memory.reserve(new_column_bytes(columns, field, dtype)));
    const Elements in = elements(columns, field);
    ColumnValues made = new_column(columns, field, dtype);
    const int64_t each = std::max<int64_t>(in.count / valid.count, 1);
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
  if (field.kind == FieldKind::kAny || holds(field, args.json("value"))) return;
  const bool tensor = field.kind == FieldKind::kTensor;
  problems.add(fmt::format("value is {}, and the field '{}' is {}", args.json("value").dump(), field.name,
                           tensor                           ? dtype_name(field.dtype)
                           : field.kind == FieldKind::kText ? "text"
                                                            : "bytes"),
               tensor ? fmt::format("give a value that it can hold, or put .cast before .fill_null") : "give a text");
}

void check_mask(const Schema& schema, const Field& field, Problems& problems) {
  const auto mask = schema.find(mask_name(field.name));
  if (!mask) {
    problems.add(fmt::format("the field '{}' came without the mask '{}'", field.name, mask_name(field.name)),
                 "give its source null=fb.NULL_MASK, or take it out of .fill_null");
    return;
  }
  if (field.kind == FieldKind::kAny || schema[*mask].kind == FieldKind::kAny || marks(schema[*mask], field)) return;
  problems.add(fmt::format("the mask {} does not say which values of {} are there", schema[*mask].to_string(),
                           field.to_string()),
               field.kind == FieldKind::kTensor && !field.shape.fully_known()
                   ? "a list that is null is an empty one; drop its mask with .select"
                   : "a mask is bool, with one value in a row or as many as its field");
}

void infer_fill_null(const Args& args, Schema& schema, Problems& problems) {
  const std::vector<std::string> names = args.names("field");
  if (names.empty()) problems.add("no field is named", "name a column, or a list of them");
  for (const size_t index : check_fields(names, schema, problems)) {
    check_value(args, schema[index], problems);
    check_mask(schema, schema[index], problems);
  }
  for (const std::string& name : names) {
    if (const auto mask = schema.find(mask_name(name))) schema.erase(*mask);
  }
}

Result<std::unique_ptr<ColumnOp>> compile(const Args& args, const Schema&) {
  return std::unique_ptr<ColumnOp>(std::make_unique<FillNull>(args.names("field"), args.json("value")));
}

FieldUse uses(const OpSpec& spec) {
  FieldUse use;
  if (const auto field = spec.args.find("field"); field != spec.args.end()) use.makes = field_list(*field);
  for (const std::string& name : use.makes) {
    use.reads.push_back(name);
    use.reads.push_back(mask_name(name));
  }
  return use;
}

}  // namespace

OpDef fill_null_op() {
  return make_op({.name = "fill_null",
                  .help = "Puts a value where the mask `<field>_valid` is false, and drops the mask.",
                  .args = {{"value", ArgType::kJson, true, nullptr, "a number, true or false, or a text"},
                           column_arg("columns that came with masks")},
                  .infer = infer_fill_null,
                  .compile_columns = compile,
                  .uses = uses});
}

}  // namespace forebay
