#include "ops/encoded_fields.h"

#include <fmt/format.h>

namespace forebay {
namespace {

constexpr std::string_view kStoredBytes = "bytes";

bool is_encoded(const Schema& schema, std::string_view name) {
  const auto index = schema.find(name);
  return index && holds_encoded(schema[*index]);
}

std::vector<std::string> or_default(std::vector<std::string> names, const Decoded& made, const Schema& schema) {
  if (!names.empty()) return names;
  for (const std::string_view name : {made.name, kStoredBytes}) {
    if (is_encoded(schema, name)) return {std::string(name)};
  }
  return {};
}

}  // namespace

bool holds_encoded(const Field& field) {
  if (field.kind == FieldKind::kBytes || field.kind == FieldKind::kAny) return true;
  // User code passes bytes as tensors.
  return field.kind == FieldKind::kTensor && field.dtype == DType::kUint8 && field.shape.rank() == 1;
}

std::vector<std::string> encoded_fields(const Args& args, const Decoded& made, const Schema& schema) {
  return or_default(args.names("field"), made, schema);
}

void no_encoded_field(const Decoded& made, const Schema& schema, Problems& problems) {
  const auto decoded = schema.find(made.name);
  if (decoded && schema[*decoded].kind == FieldKind::kTensor) {
    return problems.add(fmt::format("the field '{}' is decoded already: {}", made.name, schema[*decoded].to_string()),
                        fmt::format("take this .{}() out", made.op));
  }
  problems.add(
      fmt::format("there is no encoded field '{}' or 'bytes'; the fields here are {}", made.name, schema.names()),
      fmt::format("name the field: .{}(field=...)", made.op));
}

// `bytes` gets the decoded name; every other field keeps its own.
std::optional<size_t> take_encoded(const std::string& name, const Decoded& made, Schema& schema, Problems& problems) {
  const auto index = schema.find(name);
  const std::string remedy = fmt::format("name a field of encoded {}", made.things);
  if (!index) {
    problems.add(fmt::format("there is no field '{}'; the fields here are {}", name, schema.names()), remedy);
    return std::nullopt;
  }
  Field& field = schema[*index];
  if (!holds_encoded(field)) {
    const bool decoded = field.kind == FieldKind::kTensor;
    problems.add(decoded ? fmt::format("the field '{}' is decoded already: {}", name, field.to_string())
                         : fmt::format("the field '{}' is {}", name, field.type_word()),
                 decoded ? fmt::format("take this .{}() out", made.op) : remedy);
    return std::nullopt;
  }
  if (name != kStoredBytes) return index;
  if (schema.find(made.name)) {
    problems.add(fmt::format("'bytes' would become '{0}', and there is a field '{0}' already", made.name),
                 fmt::format("rename or drop one of them before: .rename({}=...)", made.name));
    return std::nullopt;
  }
  field.name = made.name;
  return index;
}

// If user code makes the fields, the field that a sample has is decoded.
FieldUse decoder_uses(const OpSpec& spec, const Decoded& made, const Schema& before) {
  std::vector<std::string> given;
  if (const auto field = spec.args.find("field"); field != spec.args.end()) given = field_list(*field);
  std::vector<std::string> names = or_default(given, made, before);
  if (names.empty()) names.emplace_back(made.name);
  const auto there = before.find(names.front());
  FieldUse use{names, names};
  // Neither the arguments nor the schema name the field, so each sample decides between the two.
  if (given.empty() && (!there || before[*there].has_replacement)) use.or_else = kStoredBytes;
  for (std::string& name : use.makes) {
    if (name == kStoredBytes) name = made.name;
  }
  return use;
}

Result<Buffer> encoded_bytes(const Value& value, std::string_view what) {
  if (value.kind == FieldKind::kBytes) return value.bytes;
  const bool encoded = value.kind == FieldKind::kTensor && !value.deferred && value.tensor.dtype == DType::kUint8 &&
                       value.tensor.shape.rank() == 1;
  if (!encoded) return unsupported(fmt::format("the value is not an encoded {}", what));
  return value.tensor.buffer;
}

}  // namespace forebay
