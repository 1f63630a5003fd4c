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
       .group = OpGroup::kStream,
       .help =
           R"(`n` old samples in each batch beside the new ones, so that a model that learns from new data does not forget what was before.

Before `.batch(b)`: a batch has the b new samples first, then n old ones (`batch["rehearsed"]`, bool). They are drawn uniformly from what
was kept of the steps before; in the first step nothing is, and the batch has new ones alone. What is kept and what is drawn is a
function of the seed, the samples and the steps: the same for any number of ranks, threads and after a resume. An old sample goes
through the steps of the pipeline again, with random numbers of its own. Of a stream the records are kept, each by one of the ranks, in
memory up to `.buffer(bytes=)`, then on disk, and lent from rank to rank ahead of the steps that have them; of a data set they are read
again: a `.cache()` makes that cheap. Of tables and tar shards that takes their row groups; where="here" keeps rows instead.)",
       .args = {{"n", ArgType::kInt, true, nullptr, "old samples of a batch, per rank"},
                {"capacity", ArgType::kInt, true, nullptr,
                 "how many are kept: of each class, or in all with policy=\"balanced\" or without classes"},
                {"by", ArgType::kTextOrNone, false, "label",
                 "the field of the source that tells the class: a whole number or a text, known without decoding; of "
                 "tables, tar shards and lines any such field, which is read once when the loader is opened. None, "
                 "which is \"\" in other faces: one class.",
                 ArgForm::kNamed},
                {"policy", ArgType::kText, false, "reservoir",
                 "\"reservoir\": of each class a uniform sample of all that came (Vitter 1985). \"balanced\": the "
                 "classes share the places evenly (Chrysakis and Moens 2020). \"recent\": the latest.",
                 ArgForm::kNamed},
                {"candidates", ArgType::kInt, false, nullptr,
                 "how many new samples of a step, over all ranks and drawn at random, may be kept; all if not given",
                 ArgForm::kNamed},
                implied({"where", ArgType::kText, false, "raw",
                         "\"raw\": old samples go through all steps again. \"here\": they come in at this step as they "
                         "were when they were new, and only the steps behind it (`.rehearse(…, "
                         "where=\"here\").random_crop(24).batch(b)`) are done anew; random steps before it are not "
                         "drawn again. What the steps before made is kept in memory, so that they need not run again; "
                         "results never depend on whether it is. `rehearsed` is a field of the samples from here on.",
                         ArgForm::kNamed}),
                {"ram", ArgType::kBytes, false, nullptr,
                 "bytes of memory for the results on each rank if where=\"here\"; 2 GiB if not given, 0 for none",
                 ArgForm::kNamed}},
       .random = false,
       .infer = infer_rehearse,
       .effect = OpEffect::kReplay,
       .uses = rehearse_uses});
}

}  // namespace forebay
