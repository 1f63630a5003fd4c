#include <fmt/format.h>

#include "ops/args.h"
#include "ops/registry.h"

namespace forebay {
namespace {

void infer(const Args& args, Schema&, Problems& problems) {
  if (args.integer("n") < 1) problems.add(fmt::format("n is {}", args.integer("n")), "give at least 1");
}

}  // namespace

OpDef take_op() {
  return make_op({.name = "take",
                  .help = "The first n ids of the data set.",
                  .args = {{"n", ArgType::kInt, true, nullptr, "how many samples"}},
                  .random = false,
                  .infer = infer,
                  .compile = nullptr});
}

}  // namespace forebay
