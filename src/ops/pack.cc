#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "pipeline/block_rows.h"

namespace forebay {
namespace {

constexpr const char* kSegments = "segments";
constexpr const char* kPositions = "positions";

void check_sequence(const Field& field, Problems& problems) {
  if (field.kind == FieldKind::kAny) return;  // known when a sample is seen
  if (field.kind != FieldKind::kTensor || field.shape.rank() != 1) {
    problems.add(fmt::format("the field {} is no row of numbers", field.to_string()),
                 "pack the ids that .tokenize makes, or another field of one axis");
  } else if (field.pad_value) {
    problems.add(fmt::format("the field '{}' is padded, and blocks would be full of that", field.name),
                 "leave out .pad: blocks have one length");
  }
}

void check_others(const std::string& packed, const Schema& schema, Problems& problems) {
  std::vector<std::string> names;
  for (const Field& field : schema) {
    if (field.name != packed && !field.optional && !may_be_lost(field.name, field.kind)) names.push_back(field.name);
  }
  if (names.empty()) return;
  Problem lost = lost_beside_blocks(packed, names);
  problems.add(std::move(lost.message), std::move(lost.remedy));
}

Field field_of_blocks(const std::string& name, int64_t length, DType dtype) {
  Field field;
  field.name = name;
  field.dtype = dtype;
  field.shape = Shape{length};
  return field;
}

void infer_pack(const Args& args, Schema& schema, Problems& problems) {
  const int64_t length = args.integer("length");
  // Segments and positions are int32.
  constexpr int64_t kLongest = (int64_t{1} << 31) - 1;
  if (length < 1 || length > kLongest)
    problems.add(fmt::format("length is {}", length), fmt::format("give 1 to {}", kLongest));
  if (args.integer("open_blocks") < 1)
    problems.add(fmt::format("open_blocks is {}", args.integer("open_blocks")), "give at least 1");
  const std::string name = args.text("field");
  if (name == kSegments || name == kPositions)
    problems.add(fmt::format("the field is called '{}', as one that this step makes", name),
                 "give it another name, with .rename");
  const auto index = schema.find(name);
  if (!index && !schema.open_ended)
    problems.add(fmt::format("there is no field '{}'", name),
                 fmt::format("give field=; the fields here are: {}", schema.names()));
  if (index) check_sequence(schema[*index], problems);
  if (index || schema.open_ended) check_others(name, schema, problems);
  Field packed = field_of_blocks(name, length, DType::kInt32);
  if (index && schema[*index].kind == FieldKind::kTensor) {
    packed.dtype = schema[*index].dtype;
  } else {
    packed.kind = FieldKind::kAny;
    packed.shape = Shape{};
  }
  schema = Schema(
      {packed, field_of_blocks(kSegments, length, DType::kInt32), field_of_blocks(kPositions, length, DType::kInt32)});
}

FieldUse pack_uses(const OpSpec& op, const Schema&) {
  const Json given = op.args.value("field", Json("tokens"));
  const std::string field = given.is_string() ? given.get<std::string>() : std::string();
  return {{field}, {field, kSegments, kPositions}};
}

}  // namespace

OpDef pack_op() {
  return make_op({.name = "pack",
                  .help = "Rows of numbers side by side in blocks of one length, which are the samples from here on.",
                  .args = {{"length", ArgType::kInt, true, nullptr, "elements of a block"},
                           {"field", ArgType::kText, false, "tokens",
                            "the field of one axis; others are left out with .select() before, but for key"},
                           {"open_blocks", ArgType::kInt, false, 64,
                            "blocks that a row may still go into; more leave less padding", ArgForm::kNamed},
                           {"pad_value", ArgType::kFloat, false, 0.0, "where no row stands", ArgForm::kNamed}},
                  .infer = infer_pack,
                  .role = OpRole::kPack,
                  .uses = pack_uses});
}

}  // namespace forebay
