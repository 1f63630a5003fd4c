#include <algorithm>

#include <fmt/format.h>

#include "ops/args.h"
#include "ops/registry.h"

namespace forebay {
namespace {

// Rows of one axis may differ in length: they become (values, offsets).
bool stacks(const Field& field) {
  return field.kind != FieldKind::kTensor || field.shape.fully_known() || field.shape.rank() == 1;
}

void infer(const Args& args, Schema& schema, Problems& problems) {
  const int64_t n = args.integer("n");
  if (n < 1) problems.add(fmt::format("n is {}", n), "give at least 1");
  const std::string last = args.text("last");
  if (last != "partial" && last != "drop" && last != "pad") {
    problems.add(fmt::format("unknown last \"{}\"", last), "give \"partial\", \"drop\" or \"pad\"");
  }
  for (const Field& field : schema) {
    if (n == 1 || stacks(field)) continue;
    problems.add(fmt::format("samples of the field '{}' may differ in shape, {}, and a batch needs one", field.name,
                             field.shape.to_string()),
                 field.image ? "put .resize(size), .center_crop or .random_resized_crop before .batch"
                             : "give it one shape in .map, or use .batch(1)");
  }
  schema.batched = true;
}

}  // namespace

OpDef batch_op() {
  return make_op({.name = "batch",
                  .help = "n samples per rank and step.",
                  .args = {{"n", ArgType::kInt, true, nullptr, "samples per rank"},
                           {"last", ArgType::kText, false, "partial",
                            "what becomes of the tail: \"partial\", \"drop\" or \"pad\""}},
                  .random = false,
                  .infer = infer,
                  .compile = nullptr});
}

}  // namespace forebay
