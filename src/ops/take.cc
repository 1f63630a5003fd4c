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
                  .help = "Only `n` of the samples that there are at this place, or all where there are fewer.",
                  .args = {{"n", ArgType::kInt, true, nullptr, "how many samples"},
                           {"spread", ArgType::kBool, false, nullptr,
                            "they are spread evenly over all, so that they look like the whole: of n of N samples the "
                            "i-th is number i * N // n. A table gives as few of its chunks as have n rows, spread "
                            "evenly, the first rows of each. By default the samples with the first ids."}},
                  .random = false,
                  .infer = infer_take,
                  .effect = OpEffect::kTaking});
}

}  // namespace forebay
