#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/ragged_fields.h"

namespace forebay {
namespace {

void infer_batch(const Args& args, Schema& schema, Problems& problems) {
  const int64_t n = args.integer("n");
  if (n < 1) problems.add(fmt::format("n is {}", n), "give at least 1");
  const std::string last = args.text("last");
  if (last != "partial" && last != "drop" && last != "pad") {
    problems.add(fmt::format("unknown last \"{}\"", last), "give \"partial\", \"drop\" or \"pad\"");
  }
  check_ragged(args, schema, problems);
}

FieldUse batch_uses(const OpSpec& spec, const Schema&) {
  FieldUse use;
  use.optional = ragged_fields(spec);
  return use;
}

}  // namespace

OpDef batch_op() {
  return make_op(
      {.name = "batch",
       .help = R"(`n` samples make a batch on each rank; only functions on whole batches may follow.

Every rank takes the same number of steps. Fixed shapes stack to (n, ...); ragged fields become `(values, offsets)`; bytes and text become
lists, lists of them lists of lists.

Nothing is known of rows that a Dataset or `.map` makes before the first batch of a loader, which decides for all: rows of one length make
an array, and one of another length later is an error; rows of different lengths make `(values, offsets)` in every batch. `.pad`
before, or `ragged=`, decides it beforehand. With n=1 they are arrays.)",
       .args =
           {{"n", ArgType::kInt, true, nullptr, "samples per batch and rank"},
            {"last", ArgType::kText, false, "partial",
             "treatment of an epoch's tail. \"partial\": divided among the ranks, in sizes that differ by one at most; "
             "\"drop\": "
             "left out; \"pad\": filled up with repeats, which `batch.padding` counts."},
            ragged_arg()},
       .random = false,
       .infer = infer_batch,
       .effect = OpEffect::kBatching,
       .uses = batch_uses});
}

}  // namespace forebay
