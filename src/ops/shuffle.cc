#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

void infer_shuffle(const Args& args, Schema&, Problems& problems) {
  for (const std::string_view name : {"block", "lanes", "window"}) {
    if (args.has(name) && args.integer(name) < 1) {
      problems.add(fmt::format("{} is {}", name, args.integer(name)), "give at least 1");
    }
  }
}

}  // namespace

OpDef shuffle_op() {
  return make_op(
      {.name = "shuffle",
       .help = "One global permutation of all samples per epoch, a new one each epoch, from the loader's seed.",
       .args = {{"block", ArgType::kInt, false, nullptr,
                 "chunks that are mixed together, for sources stored in chunks (8 by default)"},
                {"lanes", ArgType::kInt, false, nullptr,
                 "spans of the data that hosts own, for sources stored in chunks (1 by default)"},
                {"ramp", ArgType::kBool, false, nullptr,
                 "epoch 0 begins with one chunk, and the number that is mixed grows by and by to `block`, so that the "
                 "first batch need not wait for `block` chunks. Another order than without, in epoch 0 alone; the seed "
                 "alone decides it."},
                {"window", ArgType::kInt, false, nullptr,
                 "for streams, which need it: so many samples are mixed at a time, in an order that the seed and the "
                 "stream's offsets decide"}},
       .random = false,
       .infer = infer_shuffle,
       .effect = OpEffect::kOrder});
}

}  // namespace forebay
