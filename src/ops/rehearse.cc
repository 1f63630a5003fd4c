#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

constexpr const char* kRehearsed = "rehearsed";

void infer_rehearse(const Args& args, Schema& schema, Problems& problems) {
  for (const char* name : {"n", "capacity", "candidates"}) {
    if (args.has(name) && args.integer(name) < 1)
      problems.add(fmt::format("{} is {}", name, args.integer(name)), "give at least 1");
  }
  const std::string policy = args.text("policy");
  if (policy != "reservoir" && policy != "balanced" && policy != "recent")
    problems.add(fmt::format("unknown policy \"{}\"", policy), "give \"reservoir\", \"balanced\" or \"recent\"");
  const std::string where = args.text("where");
  if (where != "raw" && where != "here")
    problems.add(fmt::format("unknown where \"{}\"", where), "give \"raw\" or \"here\"");
  if (where == "raw" && args.has("ram"))
    problems.add("ram= is for what came of samples, and where=\"raw\" keeps nothing of that",
                 "leave it out, or give where=\"here\"");
  if (schema.find(kRehearsed))
    problems.add("there is a field 'rehearsed' already, and this step makes one",
                 "give the other another name, with .rename");
  Field field;
  field.name = kRehearsed;
  field.kind = FieldKind::kTensor;
  field.dtype = DType::kBool;
  schema.push_back(std::move(field));
}

FieldUse rehearse_uses(const OpSpec&, const Schema&) { return {{}, {kRehearsed}}; }

}  // namespace

OpDef rehearse_op() {
  return make_op(
      {.name = "rehearse",
       .help = "Old samples in each batch, so that what was learned is not forgotten.",
       .args = {{"n", ArgType::kInt, true, nullptr, "old samples of a batch, per rank"},
                {"capacity", ArgType::kInt, true, nullptr,
                 "samples that are kept: of each class, or with \"balanced\" or without classes of all"},
                {"by", ArgType::kText, false, "label",
                 "the field of the source that says a sample's class; \"\" for none", ArgForm::kNamed},
                {"policy", ArgType::kText, false, "reservoir",
                 "which are kept where there are more: \"reservoir\", \"balanced\" or \"recent\"", ArgForm::kNamed},
                {"candidates", ArgType::kInt, false, nullptr,
                 "new samples of a step, over all ranks, that may be kept; all if not given", ArgForm::kNamed},
                {"where", ArgType::kText, false, "raw",
                 "where old samples come in: \"raw\" at the source, through all steps again; \"here\" at this step, as "
                 "they were when they were new",
                 ArgForm::kNamed},
                {"ram", ArgType::kBytes, false, nullptr,
                 "with \"here\", bytes of memory for what came of samples; 2 GiB if not given, 0 for none",
                 ArgForm::kNamed}},
       .random = false,
       .infer = infer_rehearse,
       .role = OpRole::kRehearse,
       .uses = rehearse_uses});
}

}  // namespace forebay
