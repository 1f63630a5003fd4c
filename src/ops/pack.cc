#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/pack_arguments.h"
#include "pipeline/block_rows.h"

namespace forebay {
namespace {

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

void check_others(const std::vector<std::string>& packed, const std::vector<std::string>& limited, const Schema& schema,
                  Problems& problems) {
  const auto is_of = [](const std::vector<std::string>& list, const std::string& name) {
    return std::ranges::find(list, name) != list.end();
  };
  std::vector<std::string> names;
  for (const Field& field : schema) {
    const bool read = is_of(packed, field.name) || is_of(limited, field.name);
    if (!read && !field.optional && !is_droppable(field.name, field.kind)) names.push_back(field.name);
  }
  if (names.empty()) return;
  Problem lost = dropped_fields_problem(packed, limited, names);
  problems.add(std::move(lost.message), std::move(lost.remedy));
}

void check_there(const std::string& name, const char* argument, const Schema& schema, Problems& problems) {
  if (schema.find(name) || schema.open_ended) return;
  problems.add(fmt::format("there is no field '{}'", name),
               fmt::format("give {}; the fields here are: {}", argument, schema.names()));
}

void check_limited(const std::string& name, const Schema& schema, Problems& problems) {
  const auto index = schema.find(name);
  check_there(name, "limits= of others", schema, problems);
  if (index && is_picture_list(schema[*index]))
    problems.add(fmt::format("the field '{}' of limits is a list of pictures, which has no length", name),
                 "name the field of their patches (.patchify), or one with a number");
}

void check_packed(const PackArguments& pack, const Schema& schema, Problems& problems) {
  bool any = schema.open_ended;
  const std::vector<std::string> packed = pack.fields();
  std::vector<std::string> limited;
  for (const std::string& name : packed) {
    const auto index = schema.find(name);
    any |= index.has_value();
    if (index) check_sequence(schema[*index], problems);
    check_there(name, "field=", schema, problems);
  }
  for (const auto& [name, most] : pack.limits()) {
    check_limited(name, schema, problems);
    limited.push_back(name);
  }
  if (any) check_others(packed, limited, schema, problems);
}

Field field_of_blocks(const std::string& name, Shape shape) {
  Field field;
  field.name = name;
  field.dtype = DType::kInt32;
  field.shape = shape;
  return field;
}

Schema blocks_of(const PackArguments& pack, const Schema& schema, Problems& problems) {
  std::vector<Field> fields;
  for (const auto& [from, block] : pack.block_fields()) {
    Field& field = fields.emplace_back(field_of_blocks(block.name, Shape{pack.length()}));
    if (block.value != BlockValue::kElements) continue;
    const auto index = schema.find(from);
    if (index && schema[*index].kind == FieldKind::kTensor) {
      field.dtype = schema[*index].dtype;
      if (auto problem = number_problem(block, from, field.dtype))
        problems.add(std::move(problem->message), std::move(problem->remedy));
    } else {
      field.kind = FieldKind::kAny;
      field.shape = Shape{};
    }
  }
  if (const auto segments = pack.segment_ends()) {
    fields.push_back(
        field_of_blocks(segments->ends, Shape{segments->entries > 0 ? segments->entries : Shape::kUnknown}));
    fields.push_back(field_of_blocks(segments->longest, Shape{}));
  }
  return Schema(std::move(fields));
}

void infer_pack(const Args& args, Schema& schema, Problems& problems) {
  check_pack_arguments(args, problems);
  if (problems.any()) return;
  const PackArguments pack(args);
  check_packed(pack, schema, problems);
  schema = blocks_of(pack, schema, problems);
}

}  // namespace

OpDef pack_op() {
  OpParts parts;
  parts.name = "pack";
  parts.group = OpGroup::kText;
  parts.help = R"(Rows of different lengths side by side in blocks of one length, which are the samples from here on.

`.pack(2048)` packs `tokens`. `.pack({"tokens": 2048, "labels": 2048, "loss_mask": 2048})` packs fields that are as long as each
other in every sample; one in which they are not is Corrupt. The blocks are planned once, from the lengths, for all epochs, ranks and
seeds; with `arrange="epoch"`, anew for each epoch. The lengths are taken in a pass over all samples before the first batch, in which a
`.cache()` in front keeps what is made; if the data set's index has them, as that of `fb.megatron`, nothing is read.
Patches and pictures of `limits` are measured by the headers of the pictures, as in `.bucket`. `.shuffle()` mixes blocks. Behind
`fb.mix` and `fb.concat`, samples of all parts share blocks, and weights are shares of samples; in the parts of a mix, weights are
shares of blocks, and so of tokens. What follows works on blocks: operators on columns (`.cast`, `.rename`, `.select`, ...) first,
then `.map`, whose function gets each block; behind all parts of a mix.

A batch of b blocks has these fields, and no others:

- `tokens` and the other packed fields: (b, length), in their own types
- `labels`, with `shift=`: (b, length), of the type of the tokens
- `segments`: int32 (b, length), which of the block's rows an element is of, from 1 on; 0 where there is padding
- `positions`: int32 (b, length), its place in its segment, from 0 on; 0 where there is padding
- `cu_seqlens` and `max_seqlen`, with `cu_seqlens=True`: int32, for attention over rows of different lengths

If blocks are made once, rows of a table share them with those of the same row group only. The place of bad samples (`on_error="skip"` or `"replace"`) stays
empty. InvalidArgument where a row is not as long as when the lengths were taken: the steps before must give the same every time.)";
  parts.infer = infer_pack;
  parts.effect = OpEffect::kPacking;
  parts.freezes = true;
  parts.args = {
      {"length", ArgType::kIntByField, true, nullptr,
       "elements of a block; or for each packed field, the same for all: `{\"tokens\": 2048, \"labels\": 2048}`"},
      implied(
          {"field", ArgType::kText, false, "tokens",
           "the main one of the packed fields, of one axis, of numbers; of user code, too. Other fields that are not "
           "in length would be lost, which is InvalidArgument: leave them out by `.select(\"tokens\")` before. `key` "
           "goes without a word."}),
      implied(
          {"how", ArgType::kText, false, "first-fit",
           "\"first-fit\": what of a row fills blocks has these to itself, the rest of it goes whole into the first "
           "open block with room. \"best-fit\": the same, the longest first, each into the fullest block with room. "
           "\"cut\": row after row, cut every length elements, so that only the last block has padding.",
           ArgForm::kNamed}),
      implied({"too_long", ArgType::kText, false, "split",
               "what becomes of a row that is longer than a block: \"split\" into several; \"right\" or \"left\": cut "
               "off at that side, as `truncation_side` of tokenizers, so \"right\" keeps the first elements; \"drop\": "
               "left out, which is logged; \"error\": InvalidArgument that names the sample.",
               ArgForm::kNamed}),
      {"eos", ArgType::kIntByField, false, nullptr,
       "a number that is appended to each row before it is packed, empty ones apart. One number is for the main field "
       "and "
       "`labels`; other fields repeat their last element, as do those that `{\"tokens\": 2}` does not name.",
       ArgForm::kNamed},
      {"shift", ArgType::kIntByField, false, nullptr,
       "1: each element of `labels` is the next one of its segment, and the last is the field's pad_value. Where "
       "`labels` is not "
       "packed, it is made of the main field. `{\"labels\": 1, \"loss_mask\": 1}` shifts other fields.",
       ArgForm::kNamed},
      implied({"pad_value", ArgType::kFloatByField, false, 0.0,
               "number in places that no row fills, in all fields but `labels`, or for each field. That of `labels` is "
               "-100, "
               "which losses leave out, if it is not named.",
               ArgForm::kNamed}),
      {"limits", ArgType::kIntByField, false, nullptr,
       "further budgets of a block, for rows that are not split (`too_long`): `{\"patches\": 1024}` is the most of the "
       "field `patches` in all rows of a block, a number, or rows, text or bytes, whose own length counts, or a "
       "picture, "
       "whose pixels count. The field is read to measure it, and is in no block. A row above a limit is left out with "
       "too_long=\"drop\", otherwise InvalidArgument.",
       ArgForm::kNamed},
      {"max_segments", ArgType::kInt, false, nullptr, "rows in a block at most; any number by default",
       ArgForm::kNamed},
      implied(
          {"cu_seqlens", ArgType::kBool, false, false,
           "adds `cu_seqlens`: 0 and the ends of the block's segments, of which padding is one, so that the last is "
           "length; "
           "ragged, or filled up with length to max_segments + 2. And `max_seqlen`: the length of the longest of them.",
           ArgForm::kNamed}),
      implied(
          {"open_blocks", ArgType::kInt, false, 64,
           "of \"first-fit\": blocks that a row may still go into; the fullest is closed where there would be more. "
           "More leave less padding.",
           ArgForm::kNamed}),
      implied({"window", ArgType::kInt, false, 65'536,
               "rows that share blocks, with \"best-fit\" or arrange=\"epoch\"; more leave less padding, and lie "
               "further apart. With arrange=\"epoch\" the default for tables is the number of rows that .shuffle() "
               "mixes, if "
               "that is smaller.",
               ArgForm::kNamed}),
      {"arrange", ArgType::kText, false, nullptr,
       "\"once\": all epochs have the same blocks. \"epoch\": the rows of each epoch are packed in the order in which "
       "they come, so that other rows share a block in another epoch, and epochs may have different numbers of blocks. "
       "By default \"once\", and \"epoch\" behind `fb.mix` and `fb.concat`, where it is the only way.",
       ArgForm::kNamed}};
  parts.uses = [defs = parts.args](const OpSpec& op, const Schema&) {
    const Args args(op.args, defs);
    const PackArguments pack(args);
    FieldUse use{pack.fields(), {}};
    for (const auto& [name, most] : pack.limits()) use.reads.push_back(name);
    for (const NamedBlockField& block : pack.block_fields()) use.makes.push_back(block.field.name);
    if (const auto segments = pack.segment_ends())
      use.makes.insert(use.makes.end(), {segments->ends, segments->longest});
    return use;
  };
  return make_op(std::move(parts));
}

}  // namespace forebay
