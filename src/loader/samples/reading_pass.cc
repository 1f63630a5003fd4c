#include "loader/samples/reading_pass.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "loader/compile/bucket_step.h"
#include "loader/compile/ordering.h"
#include "loader/compile/packing_step.h"
#include "loader/describe/step_arguments.h"
#include "loader/samples/kept_lengths.h"
#include "loader/samples/sample_lengths.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

constexpr int64_t kBatch = 256;

// Reads all samples of the selection in the order of their ids, and calls `each` with the batches.
Status read_all(const CompileInput& input, const SizingInput& given, std::set<std::string> ragged,
                const PassCallbacks& callbacks, const std::function<Status(const Batch&)>& each) {
  const int64_t n = input.selection->size();
  if (n == 0) return {};
  FOREBAY_ASSIGN(const std::shared_ptr<const BranchPlan> plan, compile(input));
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

Status add_lengths(const Batch& batch, std::vector<uint32_t>& lengths) {
  const BatchField& field = batch.fields.front();
  const bool ragged = field.kind == BatchField::Kind::kRagged;
  const bool is_row = ragged ? field.values.shape.rank() == 1
                             : field.kind == BatchField::Kind::kDense && field.values.shape.rank() == 2;
  if (!is_row)
    return invalid_argument(
               fmt::format("the field '{}' is no row of numbers; .pack() puts such rows side by side", field.name))
        .with_sample(batch.ids.front());
  for (int64_t row = 0; row < batch.size(); ++row) {
    const int64_t* const offsets = ragged ? field.offsets.data<int64_t>() + row : nullptr;
    const int64_t length = ragged ? offsets[1] - offsets[0] : field.values.shape[1];
    if (length > UINT32_MAX)
      return unsupported(fmt::format("a row of {} numbers is to be packed, and 2^32 - 1 is the most", length))
          .with_sample(batch.ids[static_cast<size_t>(row)]);
    // A pass follows the order of the selection, so a position is an index. Samples left out keep
    // 0.
    lengths[static_cast<size_t>(batch.positions[static_cast<size_t>(row)])] = static_cast<uint32_t>(length);
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const MarkedSamples>> run_filter(const CompileInput& input, const SizingInput& sizes,
                                                        const PassCallbacks& callbacks) {
  std::vector<uint64_t> bits(static_cast<size_t>((input.selection->size() + 63) / 64));
  FOREBAY_RETURN_IF_ERROR(read_all(input, sizes, {}, callbacks, [&](const Batch& batch) {
    for (int64_t row = 0; row < batch.size(); ++row) {
      const auto position = static_cast<uint64_t>(batch.positions[static_cast<size_t>(row)]);
      if (*batch.fields.front().row(row).data() != 0) bits[position / 64] |= uint64_t{1} << (position % 64);
    }
    return Status();
  }));
  return std::make_shared<const MarkedSamples>(input.selection, std::move(bits));
}

Result<std::vector<uint32_t>> measure_lengths(const CompileInput& input, const SizingInput& sizes,
                                              const PassCallbacks& callbacks) {
  std::vector<uint32_t> lengths(static_cast<size_t>(input.selection->size()));
  const std::string field = packed_field(*find_step(*input.description, OpEffect::kPacking));
  FOREBAY_RETURN_IF_ERROR(
      read_all(input, sizes, {field}, callbacks, [&](const Batch& batch) { return add_lengths(batch, lengths); }));
  return lengths;
}

namespace {

Result<std::vector<float>> measured(const CompileInput& pass, const std::string& field, const KeptLengths& kept,
                                    const SizingInput& sizes, const PassCallbacks& callbacks) {
  const auto begun = std::chrono::steady_clock::now();
  bool all_good = true;
  const PassCallbacks watched{callbacks.on_runner, [&](const RowError& error) {
                                all_good = false;
                                return callbacks.on_bad_sample(error);
                              }};
  std::vector<float> lengths(static_cast<size_t>(pass.selection->size()), 1);
  FOREBAY_RETURN_IF_ERROR(
      read_all(pass, sizes, {field}, watched, [&](const Batch& batch) { return add_lengths(batch, lengths); }));
  // A bad sample may be good in a later run.
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begun;
  if (all_good) kept.keep(lengths, time.count());
  return lengths;
}

}  // namespace

Result<std::vector<float>> measure_field(const CompileInput& input, const SizingInput& sizes,
                                         const PassCallbacks& callbacks) {
  const OpSpec* const bucket = measuring_step(*input.description);
  std::vector<OpSpec> steps = input.description->steps();
  steps.resize(static_cast<size_t>(bucket - input.description->steps().data()));
  OpSpec alone;
  alone.name = "select";
  alone.args["fields"] = std::vector<std::string>{measured_field(*bucket)};
  const Description description = Description::of(std::move(steps)).append(std::move(alone));
  // Without open_cache: entries of this field alone would be of no use to the epochs.
  CompileInput pass{.description = &description,
                    .end = description.steps().size(),
                    .source = input.source,
                    .selection = input.selection,
                    .seed = input.seed};
  if (input.branch) pass.branch = CompileInput::BranchName{input.branch->name, input.branch->numbers};
  const std::string field = measured_field(*bucket);
  FOREBAY_ASSIGN(const KeptLengths kept, KeptLengths::open(pass, field, sizes));
  if (std::optional<std::vector<float>> known = kept.find()) return *std::move(known);
  return measured(pass, field, kept, sizes, callbacks);
}

Result<std::shared_ptr<const SampleClasses>> read_classes(const CompileInput& input, const std::string& field,
                                                          const SizingInput& sizes, const PassCallbacks& callbacks) {
  OpSpec alone;
  alone.name = "select";
  alone.args["fields"] = std::vector<std::string>{field};
  const Description description = Description(input.description->steps().front()).append(std::move(alone));
  const CompileInput pass{.description = &description,
                          .end = description.steps().size(),
                          .source = input.source,
                          .selection = input.selection,
                          .seed = input.seed};
  const auto classes = std::make_shared<SampleClasses>(input.selection->size());
  const PassCallbacks quiet{callbacks.on_runner, [](const RowError&) { return Status(); }};
  FOREBAY_RETURN_IF_ERROR(read_all(pass, sizes, {}, quiet, [&](const Batch& batch) { return classes->add(batch); }));
  classes->finish();
  return std::shared_ptr<const SampleClasses>(classes);
}

}  // namespace forebay
