#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

void infer_buffer(const Args& args, Schema&, Problems& problems) {
  const std::string policy = args.text("policy");
  if (policy != "block" && policy != "drop_oldest" && policy != "sample" && policy != "spill")
    problems.add(fmt::format("unknown policy \"{}\"", policy),
                 "give \"block\", \"drop_oldest\", \"sample\" or \"spill\"");
  if (args.bytes("bytes") == 0)
    problems.add("bytes is 0, so nothing could arrive", "give what may wait in memory, such as \"256MiB\"");
  if (policy == "spill" && args.bytes("disk") == 0)
    problems.add("policy is \"spill\" and disk is 0", "give disk= in bytes, such as \"20GiB\"");
  const std::string on_underrun = args.text("on_underrun");
  if (on_underrun != "wait" && on_underrun != "repeat" && on_underrun != "rehearse")
    problems.add(fmt::format("unknown on_underrun \"{}\"", on_underrun), "give \"wait\", \"repeat\" or \"rehearse\"");
}

}  // namespace

OpDef buffer_op() {
  return make_op(
      {.name = "buffer",
       .group = OpGroup::kStream,
       .help = "What becomes of a stream's records while training does not take them, and what training gets while "
               "none come.",
       .args = {{"policy", ArgType::kText, false, "block",
                 "\"block\": nothing is read that there is no room for, so that records wait where they are; nothing "
                 "is lost. \"drop_oldest\": those go that have waited longest. \"sample\": at each step a uniform "
                 "choice of all that came since the last one. \"spill\": to disk, and back in order; nothing is lost "
                 "while there is room. What is dropped is counted by partition, in stats() and in states."},
                {"bytes", ArgType::kBytes, false, "64MiB",
                 "bytes of records in memory, as a number or \"256MiB\". What one batch needs is read in any case."},
                {"disk", ArgType::kBytes, false, "10GiB",
                 "bytes of records on disk, with \"spill\"; beyond it records wait where they are", ArgForm::kNamed},
                {"dir", ArgType::kPath, false, nullptr,
                 "the folder on disk, with \"spill\"; by default the system's for temporary files", ArgForm::kNamed},
                {"on_underrun", ArgType::kText, false, "wait",
                 "the rows of a step if training waits for it. \"wait\": it waits until a whole batch has come. Else "
                 "it has the records that have come, and old ones in the place of the others: \"repeat\": of the "
                 "latest step that had new ones; \"rehearse\": of those that .rehearse() keeps, which says in "
                 "`batch[\"rehearsed\"]` which they are. Old records have the ids that they had. They are drawn at "
                 "random, by the seed, and are augmented anew; states and journals hold them. In the first step there "
                 "is nothing old, so it waits. `stats()[\"stream\"][\"missing\"]` counts them.",
                 ArgForm::kNamed}},
       .random = false,
       .infer = infer_buffer,
       .effect = OpEffect::kBuffering});
}

}  // namespace forebay
