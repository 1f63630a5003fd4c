#include "stream/record_format.h"

#include <cstring>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/columns.h"
#include "base/utf8.h"
#include "stream/named_values.h"
#include "stream/numbers.h"

namespace forebay {

namespace {

using Json = nlohmann::ordered_json;

// Keeps sizes in bytes far from overflowing 64 bits, whatever the dtype.
constexpr int64_t kMaxElements = int64_t{1} << 36;
constexpr size_t kMostFields = 10'000;
constexpr std::pair<PayloadForm, std::string_view> kForms[] = {{PayloadForm::kBytes, "bytes"},
                                                               {PayloadForm::kText, "text"},
                                                               {PayloadForm::kJson, "json"},
                                                               {PayloadForm::kFields, "fields"}};

Result<PayloadForm> form_named(std::string_view word) {
  for (const auto& [form, name] : kForms) {
    if (name == word) return form;
  }
  return invalid_argument(fmt::format("format='{}' is none; there are bytes, text, json and fields", word));
}

/// Parses the declaration of fields. `duplicate` becomes a name that it has more than once, of
/// which the parser silently takes the last value.
Json parse_field_list(std::string_view fields_json, std::optional<std::string>& duplicate) {
  std::set<std::string> names;
  const auto note_name = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth != 1 || event != Json::parse_event_t::key) return true;
    const auto& name = parsed.get_ref<const std::string&>();
    if (!names.insert(name).second) duplicate = name;
    return true;
  };
  return Json::parse(fields_json, note_name, false);
}

Status unknown_type_error(const std::string& name, const Json& given, size_t length) {
  constexpr size_t kMaxShown = 1000;  // dump() recurses as deep as the text is nested
  const std::string text = length > kMaxShown ? given.type_name() : given.dump(-1, ' ', true);
  return invalid_argument(fmt::format(
      "fields: '{}' is of type {}, which is none; give \"bytes\", \"text\", \"json\", a dtype such as \"int64\", or "
      "[dtype, [shape]]",
      name, text));
}

bool add_dimension(const Json& given, Shape& shape) {
  if (!given.is_number_integer() || shape.rank() == Shape::kMaxRank) return false;
  if (given.is_number_unsigned() && given.get<uint64_t>() > static_cast<uint64_t>(kMaxElements)) return false;
  const auto size = given.get<int64_t>();
  const bool unknown_first = size == Shape::kUnknown && shape.rank() == 0;
  if (size < 1 && !unknown_first) return false;
  int64_t elements = 1;
  for (const int64_t dim : shape) elements *= std::max<int64_t>(dim, 1);
  if (size > kMaxElements / elements) return false;
  shape.push_back(size);
  return true;
}

bool read_array_type(const Json& given, Field& field) {
  if (!given.is_array() || given.size() != 2 || !given[0].is_string() || !given[1].is_array()) return false;
  const auto dtype = dtype_from_name(given[0].get_ref<const std::string&>());
  if (!dtype) return false;
  field.dtype = *dtype;
  for (const Json& dimension : given[1]) {
    if (!add_dimension(dimension, field.shape)) return false;
  }
  return true;
}

/// Reads a type into `field`. False if it is none.
bool read_type(const Json& given, Field& field) {
  if (!given.is_string()) return read_array_type(given, field);
  const auto& word = given.get_ref<const std::string&>();
  if (word == "bytes") {
    field.kind = FieldKind::kBytes;
  } else if (word == "text" || word == "json") {
    field.kind = FieldKind::kText;
  } else if (const auto dtype = dtype_from_name(word)) {
    field.dtype = *dtype;
  } else {
    return false;
  }
  return true;
}

/// Whether the type is "json": any value of JSON, as its text.
bool is_any_json(const Json& type) { return type == Json("json"); }

bool is_floating(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBfloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

/// The type as which the parser of JSON should read the member.
JsonType json_type_of(const Field& field) {
  const bool list = field.shape.rank() > 0;
  if (field.dtype == DType::kBool) return list ? JsonType::kBoolList : JsonType::kBool;
  if (is_floating(field.dtype)) return list ? JsonType::kFloat64List : JsonType::kFloat64;
  // The parser has no lists of uint64: numbers in a list must fit int64.
  if (list) return JsonType::kInt64List;
  return field.dtype == DType::kUint64 ? JsonType::kUint64 : JsonType::kInt64;
}

/// InvalidArgument if the form does not allow such a field.
Status check_form(PayloadForm form, const Field& field, const Json& given) {
  if (form == PayloadForm::kJson) {
    if (field.kind == FieldKind::kBytes)
      return invalid_argument(
          fmt::format("fields: '{}' is bytes, which JSON does not have; declare it as \"text\"", field.name));
    if (field.shape.rank() > 1 && field.shape[0] == Shape::kUnknown)
      return invalid_argument(
          fmt::format("fields: '{}' has an unknown dimension beside others; in JSON only [-1] alone", field.name));
  } else if (is_any_json(given)) {
    return invalid_argument(fmt::format(
        "fields: '{}' is \"json\", which format='json' has; declare it as \"text\" or \"bytes\"", field.name));
  }
  return {};
}

Buffer buffer_of_text(std::string_view text) {
  Buffer bytes = Buffer::allocate(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// Makes one field from the parser's column of one row.
Result<Value> value_of_json(const Field& field, const JsonField& json, ColumnValues column) {
  const Field parsed = field_of_json(json);
  if (parsed.kind == FieldKind::kText) return Value::of_text(std::move(column.values));
  const size_t count = column.values.size() / dtype_size(parsed.dtype);
  Shape shape = field.shape;
  if (shape.rank() == 1 && shape[0] == Shape::kUnknown) shape[0] = static_cast<int64_t>(count);
  if (static_cast<uint64_t>(shape.elements()) != count)
    return corrupt(fmt::format("'{}' is a list of {} here, and {} {} by the fields", field.name, count,
                               dtype_name(field.dtype), field.shape.to_string()));
  if (parsed.dtype == field.dtype) return Value::of(Tensor{field.dtype, shape, std::move(column.values)});
  Tensor tensor = Tensor::allocate(field.dtype, shape);
  const size_t good = convert_numbers(parsed.dtype, column.values.data(), count, field.dtype, tensor.buffer.data());
  if (good < count)
    return corrupt(fmt::format("'{}' has a number that {} does not hold", field.name, dtype_name(field.dtype)));
  return Value::of(std::move(tensor));
}

/// Removes the remedies from a message that only data sets have.
Status without_arguments(const Status& status) {
  if (status.ok()) return status;
  const std::string& text = status.message();
  return Status(status.code(), text.substr(0, std::min(text.find("; null="), text.find("; nan="))));
}

Field named_field(std::string_view name, FieldKind kind) {
  Field field;
  field.name = name;
  field.kind = kind;
  return field;
}

}  // namespace

Result<RecordFormat> RecordFormat::parse(std::string_view form, std::string_view fields_json) {
  RecordFormat format;
  FOREBAY_ASSIGN(format.form_, form_named(form));
  format.identity_ = fmt::format("{}", form);
  if (format.form_ == PayloadForm::kJson || format.form_ == PayloadForm::kFields) {
    if (fields_json.empty())
      return invalid_argument(
          fmt::format("format='{}' needs fields=, such as fields={{\"label\": \"int64\"}}: a stream has no end to "
                      "look at for types",
                      form));
    FOREBAY_RETURN_IF_ERROR(format.parse_fields(fields_json));
    return format;
  }
  if (!fields_json.empty())
    return invalid_argument(fmt::format(
        "fields= goes with format='json' or 'fields'; format='{}' gives the fields {} and key", form, form));
  format.schema_.push_back(
      named_field(form, format.form_ == PayloadForm::kBytes ? FieldKind::kBytes : FieldKind::kText));
  format.schema_.push_back(named_field("key", FieldKind::kText));
  return format;
}

Status RecordFormat::parse_fields(std::string_view fields_json) {
  // Names are in the order of the schema. Text that is not UTF-8 is no JSON to the parser, so
  // dump() below does not throw.
  std::optional<std::string> duplicate;
  const Json given = parse_field_list(fields_json, duplicate);
  if (!given.is_object() || given.empty() || given.size() > kMostFields)
    return invalid_argument("fields: no JSON object of names and types");
  if (duplicate) return invalid_argument(fmt::format("fields: '{}' is there twice", *duplicate));
  for (const auto& [name, type] : given.items()) {
    Field field = named_field(name, FieldKind::kTensor);
    if (!read_type(type, field)) return unknown_type_error(name, type, fields_json.size());
    if (name.empty()) return invalid_argument("fields: a name is empty");
    FOREBAY_RETURN_IF_ERROR(check_form(form_, field, type));
    const JsonType text = is_any_json(type) ? JsonType::kJson : JsonType::kText;
    json_fields_.push_back({name, field.kind == FieldKind::kTensor ? json_type_of(field) : text, {}});
    schema_.push_back(std::move(field));
  }
  identity_ += given.dump();
  if (form_ != PayloadForm::kJson) return {};
  FOREBAY_ASSIGN(JsonNames names, JsonNames::of(json_fields_));
  json_names_ = std::make_shared<const JsonNames>(std::move(names));
  return {};
}

Status RecordFormat::decode(std::string_view key, const Buffer& payload, Record& out) const {
  out.clear();
  if (form_ == PayloadForm::kJson) return decode_json(payload, out);
  if (form_ == PayloadForm::kFields) return decode_named(payload, out);
  if (form_ == PayloadForm::kText) {
    if (const auto at = first_not_utf8(payload.span()))
      return corrupt(fmt::format("no UTF-8 at byte {}; format='bytes' takes it as it is", *at));
  }
  out.push_back(form_ == PayloadForm::kText ? Value::of_text(payload) : Value::of_bytes(payload));
  out.push_back(Value::of_text(buffer_of_text(key)));
  return {};
}

Status RecordFormat::decode_json(const Buffer& payload, Record& out) const {
  std::vector<JsonColumn> columns;
  columns.reserve(json_fields_.size());
  for (const JsonField& field : json_fields_) columns.emplace_back(field);
  // The parser would take anything but an object as the member `value` of one.
  const auto* const begin = reinterpret_cast<const char*>(payload.data());
  const size_t first = std::string_view(begin, payload.size()).find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || begin[first] != '{') return corrupt("no JSON object");
  FOREBAY_RETURN_IF_ERROR(without_arguments(read_json_record(payload.span(), *json_names_, columns, 0)));
  for (size_t i = 0; i < columns.size(); ++i) {
    FOREBAY_ASSIGN(Value value, value_of_json(schema_[i], json_fields_[i], std::move(columns[i]).finish()));
    out.push_back(std::move(value));
  }
  return {};
}

Status RecordFormat::decode_named(const Buffer& payload, Record& out) const {
  FOREBAY_ASSIGN(const std::vector<NamedValue> values, named_values(payload.span()));
  for (const Field& field : schema_) {
    const std::span<const uint8_t>* bytes = find_named(values, field.name);
    if (bytes == nullptr) return corrupt(fmt::format("'{}' is missing", field.name));
    FOREBAY_ASSIGN(Value value, value_of_named(field, *bytes, payload));
    out.push_back(std::move(value));
  }
  return {};
}

}  // namespace forebay
