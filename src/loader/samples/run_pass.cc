#include "loader/samples/run_pass.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "loader/compile/ordering.h"

namespace forebay {

namespace {
constexpr int64_t kBatch = 256;
}  // namespace

Status run_pass(const CompileInput& input, std::string step, const SizingInput& given, std::set<std::string> ragged,
                const PassCallbacks& callbacks, const std::function<Status(const Batch&)>& each) {
  const int64_t n = input.selection->size();
  if (n == 0) return {};
  CompileInput pass = input;
  pass.pass_of = std::move(step);
  FOREBAY_ASSIGN(const std::shared_ptr<const BranchPlan> plan, compile(pass));
  SizingInput sizes = given;
  FOREBAY_ASSIGN(Ordering ordering, choose_order(nullptr, *plan->source, *input.selection, input.seed));
  // In order and on this rank alone: a pass mixes nothing, and no rank waits for another.
  sizes.run = {.rows = std::min(n, kBatch)};
  sizes.mixing.clear();
  FOREBAY_ASSIGN(RunnerOptions options, choose_sizes(plan, sizes));
  // watch.on_bad_sample() decides about bad samples.
  options.bad_sample = BadSample::kSkip;
  options.ragged = std::move(ragged);
  const EqualBatches schedule(
      {.epoch_size = n, .batch_size = sizes.run.rows, .world_size = 1, .last = LastPolicy::kPartial});
  auto itinerary = std::make_shared<IndexedItinerary>(std::move(ordering.order),
                                                      BranchSamples{input.selection, input.seed}, schedule, 0, 1);
  auto runner = std::make_shared<Runner>(Engine::shared(), plan, itinerary, options);
  Status status = callbacks.on_runner(runner);
  for (bool over = false; status.ok() && !over;) {
    // close() of the loader finds the runner through on_runner(), and ends this wait.
    Result<Runner::Delivery> delivery = runner->next_for(std::chrono::seconds(1));
    if (!delivery.ok()) {
      status = delivery.status();
      break;
    }
    for (size_t i = 0; i < delivery->errors.size() && status.ok(); ++i)
      status = callbacks.on_bad_sample(delivery->errors[i]);
    over = !delivery->batch && !delivery->timed_out;
    if (delivery->batch && status.ok()) status = each(*delivery->batch);
  }
  runner->close();
  const Status over = callbacks.on_runner(nullptr);
  return status.ok() ? over : status;
}

}  // namespace forebay
