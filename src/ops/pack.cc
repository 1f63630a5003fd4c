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
    if (field.name != packed && !field.optional && !is_droppable(field.name, field.kind)) names.push_back(field.name);
  }
  if (names.empty()) return;
  Problem lost = dropped_fields_problem(packed, names);
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
  return make_op(
      {.name = "pack",
       .group = OpGroup::kText,
       .help = R"(Rows of different lengths side by side in blocks of one length, which are the samples from here on.

What of a row fills blocks has these to itself, the rest of it goes whole into the first open block with room (first-fit). So it is
decided once, by the lengths, for all epochs, ranks and seeds: the lengths are taken in a pass over all samples before the first batch,
in which a `.cache()` in front keeps what is made. `.shuffle()` mixes blocks. Only it and `.batch` may follow.

A batch of b blocks has these fields, and no others:

- `tokens` (the packed field's name): (b, length), in its own type
- `segments`: int32 (b, length), which of the block's rows an element is of, from 1 on; 0 where there is padding
- `positions`: int32 (b, length), its place in its row

Rows of a table share blocks with those of the same row group only. The place of bad samples (`on_error="skip"` or `"replace"`) stays
empty. InvalidArgument where a row is not as long as when the lengths were taken: what stands before must give the same every time.)",
       .args = {{"length", ArgType::kInt, true, nullptr, "elements of a block"},
                implied({"field", ArgType::kText, false, "tokens",
                         "the field of one axis, of numbers; of user code, too. Other fields (labels, masks) would be "
                         "lost, which is InvalidArgument: leave them out by `.select(\"tokens\")` before. `key` goes "
                         "without a word."}),
                implied({"open_blocks", ArgType::kInt, false, 64,
                         "blocks that a row may still go into; the fullest is closed where there would be more. More "
                         "leave less padding.",
                         ArgForm::kNamed}),
                implied(
                    {"pad_value", ArgType::kFloat, false, 0.0, "number in places that no row fills", ArgForm::kNamed})},
       .infer = infer_pack,
       .effect = OpEffect::kPacking,
       .freezes = true,
       .uses = pack_uses});
}

}  // namespace forebay
