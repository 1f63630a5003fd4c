#include "loader/describe/batch_functions.h"

#include <utility>

#include "loader/describe/user_code.h"
#include "ops/definition/args.h"

namespace forebay {

namespace {

constexpr const char* kRandom =
    "call `fn(…, rng)` with a `numpy.random.Generator` made for this batch: it depends on the seed, the epoch, the "
    "position of the batch's first row in the epoch's order, and the place of the step among the random steps behind "
    "`.batch`. So it is another one on each rank, and the same for any number of threads and after a resume.";
constexpr const char* kWorkers =
    "\"threads\", \"processes\" or \"auto\", as for `.map`: with processes, batches and answers are sent through "
    "memory that both share";

// An operator on whole batches, for languages that hold its function.
OpDef batch_function(std::string name, OpEffect effect, std::string help, std::string function) {
  OpDef def;
  def.name = std::move(name);
  def.effect = effect;
  def.role = OpRole::kNone;
  def.faces = ArgFaces::kPython;
  def.help = std::move(help);
  def.function = std::move(function);
  def.args = {
      implied({"random", ArgType::kBool, false, false, kRandom, ArgForm::kPlain, ArgUse::kRandom, ArgFaces::kPython}),
      {"workers", ArgType::kText, false, "threads", kWorkers, ArgForm::kPlain, ArgUse::kRun, ArgFaces::kPython}};
  def.infer = [args = def.args](const OpSpec& op, Schema&, std::vector<Problem>& found) {
    Problems problems(found);
    check_args(op.args, args, problems);
    check_function(op, problems);
  };
  return def;
}

}  // namespace

OpDef map_batch_op() {
  return batch_function(
      "map_batch", OpEffect::kBatchFunction,
      R"(The user's own function on whole batches, behind `.batch`: `fn(batch)` gets a dict of fields and returns one.

A field is what `batch[name]` of a loader is, so that code of a training loop can move here: a NumPy array of shape (rows, ...), yours to
write to; `(values, offsets)` for ragged rows; a list for str or bytes, a list of lists for lists of them. It returns fields in the same
forms, also of torch tensors. They may be others than those that it got, and have another number of rows, which must be the same for all.

`fn` runs on the threads of `.map`, ahead of the training loop, for several batches at once; batches keep their order. Several
`.map_batch` may follow each other. An exception is raised in place of its batch, whatever `on_error` says, since it is of no single sample; it
keeps type and traceback and gains the batch's step and first sample as a note. A batch may have no rows, where `on_error="skip"`
left all of them out.)",
      "the function. It must not depend on anything that changes from call to call.");
}

OpDef collate_op() {
  return batch_function(
      "collate", OpEffect::kCollation,
      R"(The user's own function that makes each batch, behind `.batch`, as PyTorch's `collate_fn`: `fn(samples)` gets a list of dicts and
returns any object but None.

The loop over the loader gets that object itself, and not a `Batch`. Samples may differ in shape and in their fields: nothing is stacked
before. An array is yours to write to and to keep; it is a NumPy array, or with the loader's `output="torch"` a torch tensor, as most
collate functions want. Behind `.pack` the samples are the packed blocks.

It runs like the function of `.map_batch`, with the same threads, order and exceptions. It follows `.batch` directly, and nothing follows it. In
the loader's memory an object counts as the samples that it was made of.)",
      "the function. It must not depend on anything that changes from call to call.");
}

}  // namespace forebay
