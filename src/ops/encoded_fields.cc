#include "ops/encoded_fields.h"

#include <fmt/format.h>

namespace forebay {
namespace {

constexpr std::string_view kStoredBytes = "bytes";

// Whether the field may hold encoded bytes, or lists of them.
bool may_hold_encoded(const Field& field, const DecodedKind& kind) {
  if (field.kind == FieldKind::kBytes || field.kind == FieldKind::kAny) return true;
  if (field.kind == FieldKind::kBytesList) return kind.lists;
  // User code passes bytes as tensors.
  return field.kind == FieldKind::kTensor && field.dtype == DType::kUint8 && field.shape.rank() == 1;
}

std::vector<std::string> names_or_default(std::vector<std::string> names, const DecodedKind& kind,
                                          const Schema& schema) {
  if (!names.empty()) return names;
  for (const std::string_view name : {kind.name, kStoredBytes}) {
    const auto index = schema.find(name);
    if (index && may_hold_encoded(schema[*index], kind)) return {std::string(name)};
  }
  return {};
}

}  // namespace

std::vector<std::string> encoded_fields(const Args& args, const DecodedKind& kind, const Schema& schema) {
  return names_or_default(args.names("field"), kind, schema);
}

void report_no_encoded_field(const DecodedKind& kind, const Schema& schema, Problems& problems) {
  const auto decoded = schema.find(kind.name);
  if (decoded && schema[*decoded].kind == FieldKind::kTensor) {
    return problems.add(fmt::format("the field '{}' is decoded already: {}", kind.name, schema[*decoded].to_string()),
                        fmt::format("take this .{}() out", kind.op));
  }
  problems.add(
      fmt::format("there is no encoded field '{}' or 'bytes'; the fields here are {}", kind.name, schema.names()),
      fmt::format("name the field: .{}(field=...)", kind.op));
}

// `bytes` gets the decoded name; every other field keeps its own.
std::optional<size_t> resolve_encoded_field(const std::string& name, const DecodedKind& kind, Schema& schema,
                                            Problems& problems) {
  const auto index = schema.find(name);
  const std::string remedy = fmt::format("name a field of encoded {}", kind.things);
  if (!index) {
    problems.add(fmt::format("there is no field '{}'; the fields here are {}", name, schema.names()), remedy);
    return std::nullopt;
  }
  Field& field = schema[*index];
  if (!may_hold_encoded(field, kind)) {
    const bool decoded = field.kind == FieldKind::kTensor;
    problems.add(decoded ? fmt::format("the field '{}' is decoded already: {}", name, field.to_string())
                         : fmt::format("the field '{}' is {}", name, field.type_word()),
                 decoded ? fmt::format("take this .{}() out", kind.op) : remedy);
    return std::nullopt;
  }
  if (name != kStoredBytes) return index;
  if (schema.find(kind.name)) {
    problems.add(fmt::format("'bytes' would become '{0}', and there is a field '{0}' already", kind.name),
                 fmt::format("rename or drop one of them before: .rename({}=...)", kind.name));
    return std::nullopt;
  }
  field.name = kind.name;
  return index;
}

// If user code makes the fields, the field that a sample has is decoded.
FieldUse decoder_uses(const OpSpec& spec, const DecodedKind& kind, const Schema& before) {
  std::vector<std::string> given;
  if (const auto field = spec.args.find("field"); field != spec.args.end()) given = field_list(*field);
  std::vector<std::string> names = names_or_default(given, kind, before);
  if (names.empty()) names.emplace_back(kind.name);
  const auto there = before.find(names.front());
  FieldUse use{names, names};
  // Neither the arguments nor the schema name the field, so each sample decides between the two.
  if (given.empty() && (!there || before[*there].has_replacement)) use.or_else = kStoredBytes;
  for (std::string& name : use.makes) {
    if (name == kStoredBytes) name = kind.name;
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
