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
       .help = "Another order of the samples in every epoch.",
       .args = {{"block", ArgType::kInt, false, nullptr, "chunks mixed together, for chunked data (8 if not given)"},
                {"lanes", ArgType::kInt, false, nullptr, "spans that hosts own, for chunked data (1 if not given)"},
                {"ramp", ArgType::kBool, false, nullptr,
                 "epoch 0 begins with one chunk and comes to `block` by and by, so that the first batch comes early"},
                {"window", ArgType::kInt, false, nullptr, "of streams: samples that are mixed"}},
       .random = false,
       .infer = infer_shuffle,
       .role = OpRole::kOrder});
}

}  // namespace forebay
