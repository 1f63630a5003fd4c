#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/work_memory.h"
#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/missing_fields.h"
#include "pipeline/field_rows.h"

namespace forebay {

namespace {

// Nothing if no field of a sample can have this shape.
std::optional<Shape> possible_shape(const std::vector<int64_t>& axes) {
  constexpr int64_t kMostElements = int64_t{1} << 40;
  if (axes.size() > Shape::kMaxRank) return std::nullopt;
  int64_t elements = 1;
  for (const int64_t axis : axes) {
    if (axis == Shape::kUnknown) continue;
    if (axis < 0 || axis > kMostElements / std::max<int64_t>(elements, 1)) return std::nullopt;
    elements *= axis;
  }
  return Shape(axes);
}

// Throws what the JSON library throws if something has another type.
std::optional<Field> parsed_field(const Json& json) {
  Field field;
  field.name = json.at("name").get<std::string>();
  const int kind = json.at("kind").get<int>();
  // The kind of a field that is not known yet is kAny.
  if (kind < 0 || kind > static_cast<int>(FieldKind::kAny)) return std::nullopt;
  field.kind = static_cast<FieldKind>(kind);
  if (field.kind == FieldKind::kTensor) {
    const std::optional<DType> dtype = dtype_from_name(json.at("dtype").get<std::string>());
    const std::optional<Shape> shape = possible_shape(json.at("shape").get<std::vector<int64_t>>());
    if (!dtype || !shape) return std::nullopt;
    field.dtype = *dtype;
    field.shape = *shape;
  }
  field.image = json.value("image", false);
  field.channels_first = json.value("channels_first", false);
  field.layout_chosen = json.value("layout_chosen", false);
  field.normalized = json.value("normalized", false);
  field.ragged = json.value("ragged", false);
  const int sound = json.value("sound", 0);
  if (sound < 0 || sound > static_cast<int>(SoundForm::kRecordings)) return std::nullopt;
  field.sound = static_cast<SoundForm>(sound);
  field.rate = json.value("rate", int64_t{0});
  if (json.contains("pad_value")) field.pad_value = json.at("pad_value").get<double>();
  field.pad_length = json.value("pad_length", int64_t{0});
  return field;
}

}  // namespace

Json json_of_field(const Field& field) {
  Json json = {{"name", field.name}, {"kind", static_cast<int>(field.kind)}};
  if (field.kind == FieldKind::kTensor) {
    json["dtype"] = dtype_name(field.dtype);
    json["shape"] = std::vector<int64_t>(field.shape.begin(), field.shape.end());
  }
  for (const auto& [name, set] : {std::pair("image", field.image), std::pair("channels_first", field.channels_first),
                                  std::pair("layout_chosen", field.layout_chosen),
                                  std::pair("normalized", field.normalized), std::pair("ragged", field.ragged)})
    if (set) json[name] = true;
  if (field.sound != SoundForm::kNone) json["sound"] = static_cast<int>(field.sound);
  if (field.rate != 0) json["rate"] = field.rate;
  if (field.pad_value) json["pad_value"] = *field.pad_value;
  if (field.pad_length != 0) json["pad_length"] = field.pad_length;
  return json;
}

std::optional<Field> field_of_json(const Json& json) {
  try {
    return parsed_field(json);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::optional<std::string> no_zeros(const Field& field) {
  if (field.kind == FieldKind::kAny) return "a function makes it, and its type is known when a sample is seen";
  if (field.kind != FieldKind::kTensor || field.fixed_shape() || is_ragged(field)) return std::nullopt;
  return fmt::format("its shape {} is known when a sample is seen", field.shape.to_string());
}

namespace {

// Rows of any length have none.
Shape shape_of_zeros(const Field& field) {
  Shape shape = field.shape;
  for (size_t axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] == Shape::kUnknown) shape[axis] = 0;
  return shape;
}

Value zeros_of(const Field& field) {
  if (field.kind == FieldKind::kText) return Value::of_text(Buffer());
  if (field.kind == FieldKind::kBytes) return Value::of_bytes(Buffer());
  if (field.string_list()) return Value::of_list(field.kind, Buffer());
  Tensor made = Tensor::allocate(field.dtype, shape_of_zeros(field));
  std::memset(made.buffer.data(), 0, made.nbytes());
  return Value::of(std::move(made));
}

Field valid_field(std::string name) {
  Field field;
  field.name = std::move(name);
  field.dtype = DType::kBool;
  return field;
}

Value flag(bool set) {
  Tensor made = Tensor::allocate(DType::kBool, Shape{});
  *made.buffer.data() = set ? 1 : 0;
  return Value::of(std::move(made));
}

// The fields that a step adds.
struct Added {
  std::vector<Field> missing;
  std::vector<std::pair<std::string, bool>> valid;
  bool malformed = false;

  explicit Added(const Args& args) {
    const Json &fields = args.json("fields"), &flags = args.json("valid");
    malformed = !(fields.is_array() || fields.is_null()) || !(flags.is_object() || flags.is_null());
    if (fields.is_array())
      for (const Json& json : fields) add(field_of_json(json));
    if (flags.is_object())
      for (const auto& [name, set] : flags.items()) add(name, set);
  }

 private:
  void add(std::optional<Field> field) {
    malformed |= !field;
    if (field) missing.push_back(*std::move(field));
  }
  void add(const std::string& name, const Json& set) {
    malformed |= !set.is_boolean();
    if (set.is_boolean()) valid.emplace_back(name, set.get<bool>());
  }
};

class FillMissing final : public RecordOp {
 public:
  explicit FillMissing(Added added) : added_(std::move(added)) {}

  Status apply(Record& record, const SampleContext& context) const override {
    for (const Field& field : added_.missing) {
      if (field.kind == FieldKind::kTensor)
        FOREBAY_RETURN_IF_ERROR(
            context.memory->reserve(static_cast<uint64_t>(shape_of_zeros(field).elements()) * dtype_size(field.dtype)));
      record.push_back(zeros_of(field));
    }
    for (const auto& [name, set] : added_.valid) record.push_back(flag(set));
    return {};
  }

 private:
  const Added added_;
};

class FillMissingColumns final : public ColumnOp {
 public:
  explicit FillMissingColumns(Added added) : added_(std::move(added)) {}

  Status apply(Columns& columns, WorkMemory& memory) const override {
    for (const Field& field : added_.missing) {
      const bool fixed = field.fixed_shape();
      const auto rows = static_cast<size_t>(columns.rows);
      FOREBAY_RETURN_IF_ERROR(add(field, fixed ? rows * row_bytes(field) : 0, fixed ? 0 : (rows + 1) * sizeof(int64_t),
                                  0, columns, memory));
    }
    for (const auto& [name, set] : added_.valid)
      FOREBAY_RETURN_IF_ERROR(
          add(valid_field(name), static_cast<size_t>(columns.rows), 0, set ? 1 : 0, columns, memory));
    return {};
  }

 private:
  static Status add(const Field& field, size_t values, size_t offsets, int byte, Columns& columns, WorkMemory& memory) {
    FOREBAY_RETURN_IF_ERROR(memory.reserve(values + offsets));
    ColumnValues made{Buffer::allocate(values), {}};
    if (values > 0) std::memset(made.values.data(), byte, values);
    if (offsets > 0) {
      made.offsets = Buffer::allocate(offsets);
      std::memset(made.offsets.data(), 0, offsets);
    }
    columns.schema.push_back(field);
    columns.values.push_back(std::move(made));
    return {};
  }

  const Added added_;
};

void infer_fill_missing(const Args& args, Schema& schema, Problems& problems) {
  const Added added(args);
  if (added.malformed)
    problems.add("the fields or their flags are not as mixes write them",
                 "leave the step out, and give the mix missing=\"mask\"");
  for (const Field& field : added.missing)
    if (!schema.find(field.name)) schema.push_back(field);
  for (const auto& [name, set] : added.valid) {
    if (schema.find(name)) {
      problems.add(fmt::format("there is a field '{}' already, and missing=\"mask\" makes one", name),
                   "give it another name with .rename()");
    } else {
      schema.push_back(valid_field(name));
    }
  }
}

Result<std::unique_ptr<ColumnOp>> compile_columns(const Args& args, const Schema&) {
  Added added(args);
  // A column of rows has one axis.
  const auto has_more_axes = [](const Field& field) {
    return field.kind == FieldKind::kTensor && !field.fixed_shape() && !is_ragged(field);
  };
  if (std::ranges::any_of(added.missing, has_more_axes)) return std::unique_ptr<ColumnOp>();
  return std::unique_ptr<ColumnOp>(std::make_unique<FillMissingColumns>(std::move(added)));
}

}  // namespace

OpDef fill_missing_op() {
  std::vector<ArgDef> defs = {{"fields", ArgType::kJson, false, nullptr, "the fields that a part lacks"},
                              {"valid", ArgType::kJson, false, nullptr, "new fields of bools, with their value"}};
  OpDef def = make_op({.name = "fill_missing",
                       .help = "Zeros in place of fields that only other parts of a mix have, and bools that say so.",
                       .args = defs,
                       .infer = infer_fill_missing,
                       .compile = [](const Args& args, const Schema&, uint32_t) -> Result<std::unique_ptr<RecordOp>> {
                         return std::unique_ptr<RecordOp>(std::make_unique<FillMissing>(Added(args)));
                       },
                       .compile_columns = compile_columns,
                       .uses =
                           [defs](const OpSpec& spec, const Schema&) {
                             FieldUse use;
                             const Added added(Args(spec.args, defs));
                             for (const Field& field : added.missing) use.makes.push_back(field.name);
                             for (const auto& [name, set] : added.valid) use.makes.push_back(name);
                             return use;
                           }});
  def.made_by_sources = true;
  return def;
}

}  // namespace forebay
