#include "format/lines/json_fields.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "codec/json_tree.h"
#include "format/json_nan.h"

namespace forebay {

namespace {

constexpr std::pair<JsonType, std::string_view> kWords[] = {
    {JsonType::kBool, "bool"},       {JsonType::kInt64, "int64"},       {JsonType::kUint64, "uint64"},
    {JsonType::kFloat64, "float64"}, {JsonType::kText, "text"},         {JsonType::kJson, "json"},
    {JsonType::kBoolList, "bool[]"}, {JsonType::kInt64List, "int64[]"}, {JsonType::kFloat64List, "float64[]"},
    {JsonType::kTextList, "text[]"}, {JsonType::kJsonList, "json[]"},
};

constexpr size_t kDeepestMember = 16;  // an object nested deeper becomes text

enum Bits : uint8_t {
  kSeenBool = 1,
  kSeenInt = 2,
  kSeenUint = 4,
  kSeenFloat = 8,
  kSeenText = 16,
  kSeenOther = 32,
  kSeenBeyond = 64,  // an integer that does not fit 64 bits
};

/// The parser returns integers beyond 64 bits as floats. Here they become `binary`, which JSON text
/// cannot contain.
class ValueMaker final : public JsonTree {
 public:
  Json convert_number(double value, const std::string& text) override {
    if (const std::optional<double> nan = kept_nan(text)) return *nan;
    return is_whole_number(text) ? Json::binary({}) : Json(value);
  }
};

/// The type for values with these bits; json if they have no common type.
JsonType scalar_type(uint8_t bits) {
  if (bits == 0 || bits == kSeenText) return JsonType::kText;
  if (bits == kSeenBool) return JsonType::kBool;
  if ((bits & ~(kSeenInt | kSeenUint | kSeenFloat | kSeenBeyond)) != 0) return JsonType::kJson;
  // Also for a mix with integers: a writer of 1 and 1.5 in one member means one type.
  if ((bits & kSeenFloat) != 0) return JsonType::kFloat64;
  // Integers beyond 64 bits are bad values here, because no option allows rounding.
  return (bits & kSeenUint) != 0 ? JsonType::kUint64 : JsonType::kInt64;
}

uint8_t bits_of(const nlohmann::json& value) {
  if (value.is_boolean()) return kSeenBool;
  if (value.is_number_float()) return kSeenFloat;
  if (value.is_binary()) return kSeenBeyond;
  if (value.is_number_unsigned()) return value.get<uint64_t>() > INT64_MAX ? kSeenUint : kSeenInt;
  if (value.is_number()) return kSeenInt;
  return value.is_string() ? kSeenText : kSeenOther;
}

JsonType list_type(uint8_t bits) {
  // Lists hold no integers of 2^63 or more.
  if ((bits & kSeenBeyond) != 0 && (bits & kSeenFloat) == 0) return JsonType::kJson;
  switch (scalar_type(bits)) {
    case JsonType::kBool: return JsonType::kBoolList;
    case JsonType::kInt64: return JsonType::kInt64List;
    case JsonType::kFloat64: return JsonType::kFloat64List;
    case JsonType::kText: return JsonType::kTextList;
    default: return JsonType::kJson;
  }
}

DType element_type(JsonType type) {
  switch (type) {
    case JsonType::kBool:
    case JsonType::kBoolList: return DType::kBool;
    case JsonType::kUint64: return DType::kUint64;
    case JsonType::kFloat64:
    case JsonType::kFloat64List: return DType::kFloat64;
    default: return DType::kInt64;
  }
}

}  // namespace

/// The statistics of one member over all records, with its nested members.
struct JsonTypeFinder::Seen {
  std::map<std::string, Seen> members;
  uint8_t scalars = 0, elements = 0;
  bool object = false, list = false;

  bool only_object() const { return object && !list && scalars == 0; }
  JsonType type() const {
    if (object || (list && scalars != 0)) return JsonType::kJson;
    return list ? list_type(elements) : scalar_type(scalars);
  }

  void observe(const nlohmann::json& value, size_t depth) {
    // The depth is limited because this function is recursive.
    if (value.is_object() && depth < kDeepestMember) {
      object = true;
      for (const auto& [name, member] : value.items()) members[name].observe(member, depth + 1);
    } else if (value.is_array()) {
      list = true;
      for (const nlohmann::json& element : value) elements |= bits_of(element);
    } else if (!value.is_null()) {
      scalars |= bits_of(value);
    }
  }

  void list_fields(const std::string& name, std::vector<JsonField>& fields) const {
    if (!only_object()) return fields.push_back({name, type(), {}});
    for (const auto& [member, seen] : members) seen.list_fields(name + "." + member, fields);
  }
};

std::optional<JsonType> json_type(std::string_view word) {
  const auto* const found = std::ranges::find(kWords, word, &std::pair<JsonType, std::string_view>::second);
  return found == std::end(kWords) ? std::nullopt : std::optional(found->first);
}

std::string_view json_type_word(JsonType type) {
  return std::ranges::find(kWords, type, &std::pair<JsonType, std::string_view>::first)->second;
}

std::string json_type_words() {
  std::string words;
  for (const auto& [type, word] : kWords) words += fmt::format("{}{}", words.empty() ? "" : ", ", word);
  return words;
}

Field field_of_json(const JsonField& json) {
  Field field;
  field.name = json.name;
  field.fetched = true;
  if (json.type == JsonType::kText || json.type == JsonType::kJson) {
    field.kind = FieldKind::kText;
  } else if (json.type == JsonType::kTextList || json.type == JsonType::kJsonList) {
    field.kind = FieldKind::kTextList;
  } else {
    field.dtype = element_type(json.type);
    if (is_json_list(json.type)) field.shape = Shape{Shape::kUnknown};
  }
  return field;
}

bool fits(const JsonInstead& value, JsonType type) {
  switch (type) {
    case JsonType::kBool:
    case JsonType::kBoolList: return std::holds_alternative<bool>(value);
    case JsonType::kInt64:
    case JsonType::kInt64List: return std::holds_alternative<int64_t>(value);
    case JsonType::kUint64: return std::holds_alternative<int64_t>(value) && std::get<int64_t>(value) >= 0;
    case JsonType::kFloat64:
    case JsonType::kFloat64List: return std::holds_alternative<double>(value) || std::holds_alternative<int64_t>(value);
    case JsonType::kText:
    case JsonType::kJson:
    case JsonType::kTextList:
    case JsonType::kJsonList: return std::holds_alternative<std::string>(value);
  }
  return false;
}

bool is_whole_number(std::string_view written) {
  return written.find_first_not_of("-0123456789") == std::string_view::npos;
}

JsonTypeFinder::JsonTypeFinder() : root_(std::make_unique<Seen>()) {}
JsonTypeFinder::~JsonTypeFinder() = default;

Status JsonTypeFinder::add(std::span<const uint8_t> line) {
  ValueMaker maker;
  if (!nlohmann::json::sax_parse(line.begin(), line.end(), &maker)) {
    const std::string problem = nan_problem({reinterpret_cast<const char*>(line.data()), line.size()});
    return corrupt(problem.empty() ? "no valid JSON" : problem);
  }
  const nlohmann::json& value = maker.root;
  if (value.is_object())
    root_->observe(value, 0);
  else
    root_->members["value"].observe(value, 1);
  return {};
}

std::vector<JsonField> JsonTypeFinder::fields() const {
  std::vector<JsonField> fields;
  for (const auto& [member, seen] : root_->members) seen.list_fields(member, fields);
  return fields;
}

}  // namespace forebay
