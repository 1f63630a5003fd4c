#include "ops/definition/args.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "base/suggest.h"
#include "ops/definition/record_of_columns.h"

namespace forebay {
namespace {

bool is_integer(const Json& value) {
  // The parser stores numbers above the range of int64 as unsigned.
  return value.is_number_integer() &&
         !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()});
}

bool is_size(const Json& value) {
  if (is_integer(value)) return true;
  return value.is_array() && (value.size() == 1 || value.size() == 2) &&
         std::all_of(value.begin(), value.end(), is_integer);
}

template <typename Test>
bool is_one_or_list(const Json& value, Test test) {
  return test(value) || (value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), test));
}

// An empty object names no field.
template <typename Test>
bool is_one_or_by_field(const Json& value, Test test) {
  return test(value) || (value.is_object() && !value.empty() && std::all_of(value.begin(), value.end(), test));
}

bool is_number(const Json& value) { return value.is_number(); }
bool is_text(const Json& value) { return value.is_string(); }

std::optional<uint64_t> bytes_of(const Json& value) {
  if (value.is_string()) return parse_byte_size(value.get<std::string>());
  if (!is_integer(value) || value.get<int64_t>() < 0) return std::nullopt;
  return value.get<uint64_t>();
}

bool has_type(const Json& value, ArgType type) {
  switch (type) {
    case ArgType::kInt: return is_integer(value);
    case ArgType::kFloat:
    case ArgType::kLimit: return value.is_number();
    case ArgType::kBool: return value.is_boolean();
    case ArgType::kText:
    case ArgType::kTextOrNone:
    case ArgType::kPath:
    case ArgType::kFileHash: return value.is_string();
    case ArgType::kSize: return is_size(value);
    case ArgType::kFloats:
    case ArgType::kRange:
    case ArgType::kLowHigh: return is_one_or_list(value, is_number);
    case ArgType::kIntByField: return is_one_or_by_field(value, is_integer);
    case ArgType::kFloatByField: return is_one_or_by_field(value, is_number);
    case ArgType::kFields: return is_one_or_list(value, is_text);
    case ArgType::kDType: return value.is_string() && dtype_from_name(value.get<std::string>()).has_value();
    case ArgType::kBytes: return bytes_of(value).has_value();
    case ArgType::kWeights:
      return value.is_string() || (value.is_array() && std::all_of(value.begin(), value.end(), is_number));
    case ArgType::kNumberOrWord:  // the operator checks these
    case ArgType::kTextByField:
    case ArgType::kPairs:
    case ArgType::kScalar:
    case ArgType::kValuesByField:
    case ArgType::kJson: return true;
  }
  return true;
}

std::string_view type_words(ArgType type) {
  switch (type) {
    case ArgType::kInt: return "a whole number";
    case ArgType::kFloat:
    case ArgType::kLimit: return "a number";
    case ArgType::kBool: return "true or false";
    case ArgType::kText:
    case ArgType::kTextOrNone:
    case ArgType::kPath:
    case ArgType::kFileHash: return "a text";
    case ArgType::kSize: return "a whole number or [height, width]";
    case ArgType::kFloats:
    case ArgType::kRange:
    case ArgType::kLowHigh: return "a number or a list of numbers";
    case ArgType::kFields: return "a field's name or a list of names";
    case ArgType::kDType:
      return "bool, uint8, int8, uint16, int16, uint32, int32, uint64, int64, float16, bfloat16, float32 or float64";
    case ArgType::kBytes: return "bytes as a number or as a text such as \"2GiB\"";
    case ArgType::kWeights: return "a field's name or a list of numbers";
    case ArgType::kNumberOrWord: return "a number, \"nan\", \"inf\" or \"-inf\"";
    case ArgType::kTextByField: return "a text, or one for each field";
    case ArgType::kIntByField: return "a whole number, or one for each field";
    case ArgType::kFloatByField: return "a number, or one for each field";
    case ArgType::kPairs: return "a text for each name";
    case ArgType::kScalar:
    case ArgType::kValuesByField:
    case ArgType::kJson: return "a value";
  }
  return "a value";
}

std::vector<std::string> arg_names(std::span<const ArgDef> defs) {
  std::vector<std::string> names;
  for (const ArgDef& def : defs) names.push_back(def.name);
  return names;
}

// Adds the operator's name to its errors.
class NamedOp final : public RecordOp {
 public:
  NamedOp(std::string name, std::unique_ptr<RecordOp> op) : name_(std::move(name)), op_(std::move(op)) {}
  Status apply(Record& record, const SampleContext& context) const override {
    Status status = op_->apply(record, context);
    if (status.ok()) return status;
    return std::move(status).with_operator(name_).with_sample(context.key.id);
  }

 private:
  std::string name_;
  std::unique_ptr<RecordOp> op_;
};

class NamedColumnOp final : public ColumnOp {
 public:
  NamedColumnOp(std::string name, std::unique_ptr<ColumnOp> op) : name_(std::move(name)), op_(std::move(op)) {}
  Status apply(Columns& columns, WorkMemory& memory) const override {
    Status status = op_->apply(columns, memory);
    if (status.ok()) return status;
    return std::move(status).with_operator(name_);
  }

 private:
  std::string name_;
  std::unique_ptr<ColumnOp> op_;
};

class PassOp final : public RecordOp {
 public:
  Status apply(Record&, const SampleContext&) const override { return {}; }
};

void forget_pictures(Schema& schema) {
  for (size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].image || schema[i].name == "image") schema[i].kind = FieldKind::kAny;
  }
}

}  // namespace

const Json& Args::json(std::string_view name) const {
  static const Json kNull;
  // A null means "not given", as None does in Python.
  if (const auto found = given_.find(name); found != given_.end() && !found->is_null()) return *found;
  for (const ArgDef& def : defs_) {
    if (def.name == name) return def.default_value;
  }
  return kNull;
}

std::vector<double> Args::numbers(std::string_view name) const {
  const Json& value = json(name);
  if (value.is_number()) return {value.get<double>()};
  return value.is_null() ? std::vector<double>() : value.get<std::vector<double>>();
}

std::vector<std::string> Args::names(std::string_view name) const {
  const Json& value = json(name);
  if (value.is_string()) return {value.get<std::string>()};
  return value.is_null() ? std::vector<std::string>() : value.get<std::vector<std::string>>();
}

Size Args::size(std::string_view name) const {
  const Json& value = json(name);
  if (!value.is_array()) return {value.get<int64_t>(), value.get<int64_t>()};
  return {value.front().get<int64_t>(), value.back().get<int64_t>()};
}

uint64_t Args::bytes(std::string_view name) const { return bytes_of(json(name)).value_or(0); }

DType Args::dtype(std::string_view name) const { return *dtype_from_name(text(name)); }

void check_args(const Json& given, std::span<const ArgDef> defs, Problems& problems) {
  const std::vector<std::string> names = arg_names(defs);
  for (const auto& [name, value] : given.items()) {
    const auto def = std::find_if(defs.begin(), defs.end(), [&](const ArgDef& d) { return d.name == name; });
    if (def == defs.end()) {
      problems.add(fmt::format("unknown argument '{}'{}", name, suggestion_text(name, names)),
                   names.empty() ? "it takes no arguments" : "the arguments are " + quoted_list(names));
    } else if (!value.is_null() && value != def->default_value && !has_type(value, def->type)) {
      problems.add(fmt::format("{} is {}", name, json_text(value)), fmt::format("give {}", type_words(def->type)));
    }
  }
  for (const ArgDef& def : defs) {
    const auto found = given.find(def.name);
    if (def.required && (found == given.end() || found->is_null())) {
      problems.add(fmt::format("{} is missing", def.name),
                   fmt::format("give {}: {}", type_words(def.type), def.help.substr(0, def.help.find(". "))));
    }
  }
}

std::vector<size_t> check_fields(std::span<const std::string> names, const Schema& schema, Problems& problems) {
  std::vector<std::string> known;
  for (const Field& field : schema) known.push_back(field.name);
  std::vector<size_t> found;
  for (const std::string& name : names) {
    if (const auto index = schema.find(name)) {
      found.push_back(*index);
    } else {
      problems.add(fmt::format("there is no field '{}'{}", name, suggestion_text(name, known)),
                   "the fields here are " + quoted_list(known));
    }
  }
  return found;
}

std::string string_list_remedy(const Field& field, std::string_view op) {
  return fmt::format("make numbers of it in .map(function, fields=[\"{}\"]) before .{}", field.name, op);
}

std::string json_text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string quoted_list(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", name);
  return text;
}

namespace {

FieldUse named_fields(const OpSpec& spec, const OpParts& parts) {
  for (const ArgDef& arg : parts.args) {
    if (arg.name != "field" && arg.name != "fields") continue;
    std::vector<std::string> names = field_list(Args(spec.args, parts.args).json(arg.name));
    return {.reads = names, .makes = names, .each = parts.each};
  }
  return {};
}

FieldUse use_of(const OpParts& parts, const OpSpec& spec, const Schema& before) {
  return parts.uses ? parts.uses(spec, before) : named_fields(spec, parts);
}

// Includes the optional fields that are present.
std::vector<std::string> fields_read(const OpParts& parts, const OpSpec& spec, const Schema& before) {
  FieldUse use = use_of(parts, spec, before);
  for (std::string& name : use.optional) {
    if (before.find(name)) use.reads.push_back(std::move(name));
  }
  return use.reads;
}

Result<std::unique_ptr<RecordOp>> compile_for_records(const OpParts& parts, const OpSpec& spec, const Schema& before,
                                                      uint32_t random_index) {
  const Args args(spec.args, parts.args);
  if (parts.compile) return parts.compile(args, before, random_index);
  if (!parts.compile_columns) return std::unique_ptr<RecordOp>(std::make_unique<PassOp>());
  FOREBAY_ASSIGN(auto op, parts.compile_columns(args, before));
  Schema after = before;
  std::vector<Problem> found;
  Problems problems(found);
  parts.infer(args, after, problems);
  return record_of_columns(std::move(op), fields_read(parts, spec, before), before, after);
}

}  // namespace

OpDef make_op(OpParts parts) {
  const auto shared = std::make_shared<const OpParts>(std::move(parts));
  OpDef def;
  def.name = shared->name;
  def.group = shared->group;
  def.help = shared->help;
  def.args = shared->args;
  def.random = shared->random;
  def.infer = [shared](const OpSpec& spec, Schema& schema, std::vector<Problem>& list) {
    Problems problems(list);
    check_args(spec.args, shared->args, problems);
    // The output of a wrong step is unknown; later steps must not report problems because of it.
    if (problems.any()) return forget_pictures(schema);
    shared->infer(Args(spec.args, shared->args), schema, problems);
  };
  def.effect = shared->effect;
  def.role = shared->effect == OpEffect::kContent ? shared->role : OpRole::kNone;
  def.freezes = shared->freezes;
  def.measures = shared->measures;
  def.sizes = shared->sizes;
  def.uses = [shared](const OpSpec& spec, const Schema& before) { return use_of(*shared, spec, before); };
  def.compile = [shared](const OpSpec& spec, const Schema& before,
                         uint32_t random_index) -> Result<std::unique_ptr<RecordOp>> {
    FOREBAY_ASSIGN(auto op, compile_for_records(*shared, spec, before, random_index));
    return std::unique_ptr<RecordOp>(std::make_unique<NamedOp>(shared->name, std::move(op)));
  };
  if (shared->compile_columns) {
    def.compile_columns = [shared](const OpSpec& spec, const Schema& before) -> Result<std::unique_ptr<ColumnOp>> {
      FOREBAY_ASSIGN(auto op, shared->compile_columns(Args(spec.args, shared->args), before));
      // Without a column operator such fields are processed record by record, as pictures are.
      if (!op) return op;
      return std::unique_ptr<ColumnOp>(std::make_unique<NamedColumnOp>(shared->name, std::move(op)));
    };
  }
  return def;
}

}  // namespace forebay
