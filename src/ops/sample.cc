#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

void check_weight_field(const std::string& name, const Schema& schema, Problems& problems) {
  const auto found = schema.find(name);
  if (!found && !schema.open_ended)
    problems.add(fmt::format("there is no field '{}'", name), fmt::format("the fields here are: {}", schema.names()));
  if (!found || schema[*found].kind == FieldKind::kAny) return;
  const Field& field = schema[*found];
  if (field.kind != FieldKind::kTensor || field.shape.rank() != 0)
    problems.add(fmt::format("the field {} is not one number", field.to_string()),
                 "name a field of numbers, or give a list with one number for each sample");
}

void infer_sample(const Args& args, Schema& schema, Problems& problems) {
  if (args.has("n") && args.integer("n") < 1)
    problems.add(fmt::format("n is {}", args.integer("n")),
                 "give the draws of an epoch, at least 1; by default as many as there are samples");
  const Json& weights = args.json("weights");
  if (weights.is_string()) check_weight_field(weights.get<std::string>(), schema, problems);
  if (weights.is_array() && weights.empty())
    problems.add("there are no weights", "give one number for each sample, or leave weights out: all are alike");
}

FieldUse sample_uses(const OpSpec& op, const Schema&) {
  const Json weights = op.args.value("weights", Json());
  return weights.is_string() ? FieldUse{{weights.get<std::string>()}, {}} : FieldUse();
}

}  // namespace

OpDef sample_op() {
  return make_op(
      {.name = "sample",
       .help = R"(`n` draws in each epoch, over all ranks, with weights.

Systematic sampling: with m = n * weight / sum of weights, each sample comes m times in each epoch, rounded down or up, and m times on
average over epochs. Nothing is left to chance but which way it is rounded. So in an epoch without weights no sample comes twice before
all have come. A sample that comes several times in an epoch has random numbers of its own each time.

With a `.shuffle()`, before or behind, the draws are shuffled; else they are in the order of the ids, evenly spread. Tables, tars and
lines are read by chunks all the same: the draws of a chunk stay together, and a chunk without draws is not read. `.take()` and filters
stand in front.)",
       .args =
           {{"n", ArgType::kInt, false, nullptr,
             "draws of an epoch. By default as many as there are samples at this place."},
            {"weights", ArgType::kWeights, false, nullptr,
             "a field of numbers, which is read once in a pass over all samples before the first batch (a bad sample "
             "has the weight 0); or one number for each sample of the data set, by id. They need not add up to 1, and "
             "a "
             "sample of weight 0 never comes. By default all are alike."},
            implied({"replacement", ArgType::kBool, false, true,
                     "False: no sample comes twice in an epoch. InvalidArgument if one would have to: with more draws "
                     "than samples, or a weight above 1 / n of the sum."})},
       .infer = infer_sample,
       .effect = OpEffect::kDrawing,
       .freezes = true,
       .uses = sample_uses});
}

}  // namespace forebay
