#include <cmath>

#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

void infer_repeat(const Args& args, Schema&, Problems& problems) {
  const double n = args.number("n");
  if (!std::isfinite(n) || n <= 0)
    problems.add(fmt::format("n is {}", n), "give the passes of an epoch: a number above 0, also 0.5 or 2.5");
}

}  // namespace

OpDef repeat_op() {
  return make_op({.name = "repeat",
                  .help = R"(`n` passes over the samples in each epoch, each pass in an order of its own.

A fraction ends an epoch within a pass, where the next epoch goes on: with n=0.5 two epochs give each sample once.)",
                  .args = {{"n", ArgType::kFloat, true, nullptr, "passes in an epoch, above 0; fractions, too"}},
                  .random = false,
                  .infer = infer_repeat,
                  .effect = OpEffect::kRepeating});
}

}  // namespace forebay
