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
       .help = "What becomes of a stream's records while training does not take them.",
       .args = {{"policy", ArgType::kText, false, "block",
                 "\"block\": they wait where they are; \"drop_oldest\"; \"sample\": a uniform choice of what came "
                 "since the last step; "
                 "\"spill\": to disk, and back in order"},
                {"bytes", ArgType::kBytes, false, "64MiB", "of records in memory"},
                {"disk", ArgType::kBytes, false, "10GiB", "of records on disk, with \"spill\"", ArgForm::kNamed},
                {"dir", ArgType::kText, false, nullptr, "the folder on disk; else the system's for temporary files",
                 ArgForm::kNamed},
                {"on_underrun", ArgType::kText, false, "wait",
                 "what training gets where it is faster: \"wait\": nothing yet; \"repeat\": the latest batch again; "
                 "\"rehearse\": samples that .rehearse() keeps",
                 ArgForm::kNamed}},
       .random = false,
       .infer = infer_buffer,
       .role = OpRole::kBuffer});
}

}  // namespace forebay
