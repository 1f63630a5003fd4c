#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

void infer_take(const Args& args, Schema&, Problems& problems) {
  if (args.integer("n") < 1) problems.add(fmt::format("n is {}", args.integer("n")), "give at least 1");
}

}  // namespace

OpDef take_op() {
  return make_op({.name = "take",
                  .help = "n samples of the data set: the first, or some from all over it.",
                  .args = {{"n", ArgType::kInt, true, nullptr, "how many samples"},
                           {"spread", ArgType::kBool, false, nullptr,
                            "spread evenly over the data set, of a table in few whole chunks; else the first ids"}},
                  .random = false,
                  .infer = infer_take,
                  .role = OpRole::kTake});
}

}  // namespace forebay
