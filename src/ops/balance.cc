#include <fmt/format.h>

#include "ops/definition/hash_share.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

void infer_balance(const Args& args, Schema& schema, Problems& problems) {
  if (args.has("samples") && args.integer("samples") < 1)
    problems.add(fmt::format("samples is {}", args.integer("samples")),
                 "give the length of an epoch, at least 1; by default as many as there are samples");
  check_groups(args.text("by"), schema, problems);
}

FieldUse balance_uses(const OpSpec& op, const Schema&) {
  const Json by = op.args.value("by", Json("label"));
  return by.is_string() ? FieldUse{{by.get<std::string>()}, {}} : FieldUse();
}

}  // namespace

OpDef balance_op() {
  return make_op(
      {.name = "balance",
       .help = R"(The classes of a field in equal shares.

Of k classes each comes once in every k positions, in an order of its own each time, so after any number of positions two classes
differ by one sample at most. Within a class no sample comes again before all others have come; in the next epoch the class goes on
where it stands. A sample that comes several times in an epoch has random numbers of its own each time.

With a `.shuffle()`, before or behind, classes and samples are shuffled; else classes come in the order in which they first appear, and
samples by id. The classes are read once, in a pass over all samples before the first batch that reads only that field; bad samples never come.

Tables, tars and lines are read by chunks, so there the shares are those of an epoch: each class has its share to within one draw, and
its samples come alike often, rounded down or up, in any order of `.shuffle()`, with the draws of a chunk together. If data lie in them
class by class, a batch has few classes: give `.shuffle()` a larger block, or shuffle them when they are written.)",
       .args = {implied(
                    {"by", ArgType::kText, false, "label", "the field that tells the class, a whole number or a text"}),
                {"samples", ArgType::kInt, false, nullptr,
                 "length of an epoch, for all ranks together. By default as many as there are samples at this place."}},
       .infer = infer_balance,
       .effect = OpEffect::kDrawing,
       .freezes = true,
       .uses = balance_uses});
}

}  // namespace forebay
