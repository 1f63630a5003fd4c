#include "ops/encoded_fields.h"

#include <fmt/format.h>

#include "base/list_limit.h"
#include "forebay/string_list.h"

namespace forebay {
namespace {

constexpr std::string_view kStoredBytes = "bytes";

// Whether the field may hold encoded bytes, or lists of them.
bool may_hold_encoded(const Field& field) {
  if (field.kind == FieldKind::kBytes || field.kind == FieldKind::kBytesList || field.kind == FieldKind::kAny)
    return true;
  // User code passes bytes as tensors.
  return field.kind == FieldKind::kTensor && field.dtype == DType::kUint8 && field.shape.rank() == 1;
}

std::vector<std::string> names_or_default(std::vector<std::string> names, const DecodedKind& kind,
                                          const Schema& schema) {
  if (!names.empty()) return names;
  for (const std::string_view name : {kind.name, kStoredBytes}) {
    const auto index = schema.find(name);
    if (index && may_hold_encoded(schema[*index])) return {std::string(name)};
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
  if (!may_hold_encoded(field)) {
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

ArgDef lists_arg(const DecodedKind& kind) {
  return {
      "lists",
      ArgType::kBool,
      false,
      nullptr,
      fmt::format("true if the field is a list of encoded {} in each sample. For columns of tables it is known; say "
                  "so for a field that user code makes, and before `.pad`.",
                  kind.things),
      ArgForm::kNamed};
}

bool given_lists(const Args& args) { return args.has("lists") && args.json("lists").get<bool>(); }

bool is_encoded_list(const Field& field, bool lists) {
  return field.kind == FieldKind::kBytesList || (lists && field.kind == FieldKind::kAny);
}

void check_lists(const Field& field, bool lists, const DecodedKind& kind, Problems& problems) {
  if (lists && !is_encoded_list(field, lists))
    problems.add(
        fmt::format("lists: the field '{}' is {}, one {} in each sample", field.name, field.type_word(), kind.thing),
        "leave lists= out");
}

Result<Buffer> encoded_bytes(const Value& value, const DecodedKind& kind) {
  if (value.kind == FieldKind::kBytes) return value.bytes;
  const bool encoded = value.kind == FieldKind::kTensor && !value.deferred && value.tensor.dtype == DType::kUint8 &&
                       value.tensor.shape.rank() == 1;
  if (!encoded) return unsupported(fmt::format("the value is not an encoded {}", kind.thing));
  return value.tensor.buffer;
}

Result<bool> is_list_value(const Value& value, const std::string& field, bool list, const DecodedKind& kind) {
  // Python's empty list arrives as an array without elements.
  const bool is_empty = value.kind == FieldKind::kTensor && value.shape().rank() == 1 && value.shape()[0] == 0 &&
                        value.dtype() != DType::kUint8;
  const bool is_list = value.kind == FieldKind::kBytesList || is_empty;
  if (is_list && !list)
    return unsupported(fmt::format("the field '{0}' is a list of {1} here; give .{2}(field=\"{0}\", lists=True)", field,
                                   kind.things, kind.op));
  if (!is_list && list)
    return unsupported(fmt::format("the field '{}' is no list of {} here, as lists=True says", field, kind.things));
  return is_list;
}

Status for_each_encoded(const Buffer& run, const DecodedKind& kind, const std::function<Status(Buffer)>& each) {
  const StringList list(run.span());
  if (list.size() > kMostInList)
    return unsupported(fmt::format("a list of {} {}; up to {} are handled", list.size(), kind.things, kMostInList));
  for (size_t i = 0; i < list.size(); ++i) {
    const auto begin = static_cast<size_t>(list[i].data() - run.data());
    const Status status = each(run.slice(begin, list.length(i)));
    if (status.ok() || status.code() == Code::kOutOfBudget) {
      FOREBAY_RETURN_IF_ERROR(status);
      continue;
    }
    return Status(status.code(), fmt::format("{} {} of the list: {}", kind.thing, i, status.message()));
  }
  return {};
}

}  // namespace forebay
