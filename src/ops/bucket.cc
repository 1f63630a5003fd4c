#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/picture_fields.h"
#include "ops/ragged_fields.h"

namespace forebay {
namespace {

// The pixels of a picture are its length.
void check_picture(const Field& field, Problems& problems) {
  const Shape shape = picture_shape(field);
  const size_t first = shape.rank() == 3 && field.channels_first ? 1 : 0;
  if (is_picture_list(field)) {
    problems.add(fmt::format("the field '{}' is a list of pictures, which has no length", field.name),
                 "name the field of their patches (.patchify), or one with a number, or use .batch(n)");
  } else if (shape[first] != Shape::kUnknown && shape[first + 1] != Shape::kUnknown) {
    problems.add(fmt::format("all pictures of the field '{}' are {} pixels", field.name,
                             size_text(shape[first], shape[first + 1])),
                 "put .bucket behind steps that leave pictures of several sizes, or use .batch(n)");
  }
}

void check_length_field(const Field& field, Problems& problems) {
  if (field.kind == FieldKind::kAny || field.kind != FieldKind::kTensor) return;
  if (field.image) {
    check_picture(field, problems);
  } else if (field.shape.rank() > 0 && field.shape[0] != Shape::kUnknown) {
    problems.add(fmt::format("all samples of the field '{}' have the length {}", field.name, field.shape[0]),
                 "name a field of rows that differ in length, or of a number; or use .batch(n)");
  }
}

void check_field(const Args& args, const Schema& schema, Problems& problems) {
  const std::string name = args.text("by");
  const auto index = schema.find(name);
  if (index) return check_length_field(schema[*index], problems);
  if (!schema.open_ended)
    problems.add(fmt::format("there is no field '{}'", name),
                 fmt::format("give by=, the field with the length; the fields here are: {}", schema.names()));
}

void check_count(const Args& args, const char* name, Problems& problems) {
  if (args.has(name) && args.integer(name) < 1)
    problems.add(fmt::format("{} is {}", name, args.integer(name)), "give at least 1");
}

bool are_above_zero(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value) && value > 0; });
}

void check_budget(const Args& args, Problems& problems) {
  const bool has_budget = args.has("tokens");
  if (!has_budget && !args.has("sizes") && !args.has("samples"))
    problems.add("nothing limits a batch", "give tokens=, the most that a batch costs; or sizes=, or samples=");
  if (has_budget && !are_above_zero({args.number("tokens")}))
    problems.add(fmt::format("tokens is {}", json_text(args.json("tokens"))),
                 "give the most that a batch costs, above 0");
  if (!args.has("cost")) return;
  const std::vector<double> cost = args.numbers("cost");
  const bool positive = std::ranges::all_of(cost, [](double value) { return std::isfinite(value) && value >= 0; }) &&
                        std::ranges::any_of(cost, [](double value) { return value > 0; });
  if (!has_budget) problems.add("cost= is the cost of a sample, and there is no budget", "give tokens=, too");
  if (cost.empty() || cost.size() > 2 || !positive)
    problems.add(fmt::format("cost is {}", json_text(args.json("cost"))),
                 "give (a, b) for samples that cost a·n + b·n² at the length n, not negative and not both 0");
}

void check_sizes(const Args& args, Problems& problems) {
  const std::vector<double> boundaries = args.has("boundaries") ? args.numbers("boundaries") : std::vector<double>();
  if (!are_above_zero(boundaries) || std::ranges::adjacent_find(boundaries, std::greater_equal()) != boundaries.end())
    problems.add(fmt::format("boundaries are {}", json_text(args.json("boundaries"))),
                 "give lengths above 0 in ascending order");
  if (!args.has("sizes")) return;
  const std::vector<double> sizes = args.numbers("sizes");
  const auto is_count = [](double size) { return size >= 1 && size <= INT32_MAX && size == std::floor(size); };
  if (!std::ranges::all_of(sizes, is_count))
    problems.add(fmt::format("sizes are {}", json_text(args.json("sizes"))), "give whole numbers of at least 1");
  if (sizes.size() != boundaries.size() + 1)
    problems.add(fmt::format("there are {} sizes and {} boundaries", sizes.size(), boundaries.size()),
                 "give one size more than boundaries: for samples below the first, between each two, and from the "
                 "last on");
}

void infer_bucket(const Args& args, Schema& schema, Problems& problems) {
  check_field(args, schema, problems);
  check_budget(args, problems);
  check_sizes(args, problems);
  for (const char* const name : {"samples", "window", "group"}) check_count(args, name, problems);
  check_ragged(args, schema, problems);
}

FieldUse bucket_uses(const OpSpec& spec, const Schema&) {
  const Json by = spec.args.value("by", Json("length"));
  FieldUse use;
  if (by.is_string()) use.reads = {by.get<std::string>()};
  use.optional = ragged_fields(spec);
  return use;
}

}  // namespace

OpDef bucket_op() {
  return make_op(
      {.name = "bucket",
       .help =
           R"(Samples of like lengths make a batch on each rank, as many as fit a budget; the last operator, in place of `.batch`.

The batches of an epoch follow from the lengths, the seed and the epoch. Every rank takes the next one at each step, so all ranks take the
same number of steps, and any number of ranks goes on from a state. Each sample comes once in an epoch. Put `.pad` before, without
`length=`, for arrays as long as the longest of their batch.

A sample that alone costs more than the budget is a batch by itself. If the last step has fewer batches than there are ranks, these are
divided.

Lengths are measured once, in a pass over all samples before the first batch, which reads only what the field `by` needs. A field with a
number, such as a column of a table, is the fastest; nothing is read for lengths that the index of the data set has (`fb.megatron`).
Pictures, and patches that `.patchify` makes of them, are measured by the headers of the pictures, so nothing is decoded; of files
(`fb.images`, `fb.files`, `fb.manifest` with known sizes) only the first 4 KiB are read, or as much as the header needs.
Lengths that random steps change count as they are in the first epoch. `len(loader)` plans all batches of the epoch.)",
       .args =
           {implied(
                {"by", ArgType::kText, false, "length",
                 "field that tells the length: a number above 0, or rows, text or bytes, whose own length counts, or a "
                 "picture, whose pixels count (for `.collate`, as pictures of several sizes do not stack)"}),
            {"tokens", ArgType::kFloat, false, nullptr,
             "the budget: the most that a batch costs, in the unit of the length. A batch of n samples costs n times "
             "its longest."},
            {"cost", ArgType::kFloats, false, nullptr,
             "(a, b): a sample of length n costs a·n + b·n², and `tokens` is in the unit of that. (1, 0) by default.",
             ArgForm::kNamed},
            implied({"padded", ArgType::kBool, false, true,
                     "each sample costs as much as the longest of its batch. False: nothing is padded, and a batch "
                     "costs the sum of its samples.",
                     ArgForm::kNamed}),
            {"samples", ArgType::kInt, false, nullptr, "the most samples of a batch", ArgForm::kNamed},
            {"boundaries", ArgType::kFloats, false, nullptr,
             "lengths, ascending: a batch has samples of one side of each. Any samples of like lengths by default.",
             ArgForm::kNamed},
            {"sizes", ArgType::kFloats, false, nullptr,
             "the most samples of a batch below the first of `boundaries`, between each two, and from the last on",
             ArgForm::kNamed},
            {"window", ArgType::kInt, false, nullptr,
             "samples are sorted among `window` times `group` batches of the epoch's order, and at most 2^20 samples. "
             "By default 100; for tables at most the row groups that `.shuffle` mixes.",
             ArgForm::kNamed},
            implied({"group", ArgType::kInt, false, 24,
                     "this many batches of like cost follow each other. A number of ranks that divides it works "
                     "equally long on all ranks. It is part of the order: fix it before the training.",
                     ArgForm::kNamed}),
            ragged_arg()},
       .random = false,
       .infer = infer_bucket,
       .effect = OpEffect::kBatching,
       .measures = true,
       .uses = bucket_uses});
}

}  // namespace forebay
