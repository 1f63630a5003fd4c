#include "loader/samples/reading_pass.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "loader/compile/bucket_step.h"
#include "loader/compile/ordering.h"
#include "loader/compile/packing_step.h"
#include "loader/describe/step_arguments.h"
#include "loader/samples/sample_lengths.h"
#include "loader/samples/stored_lengths.h"
#include "ops/image/cast_elements.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

constexpr int64_t kBatch = 256;

// Reads all samples of the selection in the order of their ids, and calls `each` with the batches.
// `step`: the one that needs them, as messages name it.
Status read_all(const CompileInput& input, std::string step, const SizingInput& given, std::set<std::string> ragged,
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

// The lengths of the rows of a field of a batch. Unsupported rows and other values are an error.
class FieldLengths {
 public:
  FieldLengths(const Batch& batch, const BatchField& field)
      : batch_(batch), field_(field), ragged_(field.kind == BatchField::Kind::kRagged) {}

  Status check() const {
    const bool is_row = ragged_ ? field_.values.shape.rank() == 1
                                : field_.kind == BatchField::Kind::kDense && field_.values.shape.rank() == 2;
    if (is_row) return {};
    return invalid_argument(
               fmt::format("the field '{}' is no row of numbers; .pack() puts such rows side by side", field_.name))
        .with_sample(batch_.ids.front());
  }
  const std::string& name() const { return field_.name; }
  int64_t of(int64_t row) const {
    if (!ragged_) return field_.values.shape[1];
    const int64_t* const offsets = field_.offsets.data<int64_t>() + row;
    return offsets[1] - offsets[0];
  }

 private:
  const Batch& batch_;
  const BatchField& field_;
  const bool ragged_;
};

// The error of a sample whose packed fields differ in length.
Status check_equal(const std::vector<FieldLengths>& fields, int64_t row) {
  const FieldLengths& first = fields.front();
  for (const FieldLengths& field : fields) {
    if (field.of(row) == first.of(row)) continue;
    return Status(Code::kCorrupt, fmt::format("'{}' has {} elements and '{}' has {}; fields that .pack() puts side by "
                                              "side have one length in each sample",
                                              first.name(), first.of(row), field.name(), field.of(row)));
  }
  return {};
}

// Adds the lengths of a batch of a pass to those of all samples.
class LengthPass {
 public:
  LengthPass(const CompileInput& input, const PassCallbacks& callbacks, std::vector<uint32_t>& lengths)
      : input_(input), callbacks_(callbacks), lengths_(lengths) {}

  Status add(const Batch& batch) {
    std::vector<FieldLengths> fields;
    for (const BatchField& field : batch.fields) {
      fields.emplace_back(batch, field);
      FOREBAY_RETURN_IF_ERROR(fields.back().check());
    }
    for (int64_t row = 0; row < batch.size(); ++row) FOREBAY_RETURN_IF_ERROR(add_row(batch, fields, row));
    return {};
  }

 private:
  Status add_row(const Batch& batch, const std::vector<FieldLengths>& fields, int64_t row) {
    const int64_t id = batch.ids[static_cast<size_t>(row)], length = fields.front().of(row);
    if (length > UINT32_MAX)
      return unsupported(fmt::format("a row of {} numbers is to be packed, and 2^32 - 1 is the most", length))
          .with_sample(id);
    if (Status status = check_equal(fields, row); !status.ok())
      return callbacks_.on_bad_sample(
          {.row = row,
           .id = id,
           .status = std::move(status).with_operator("pack").with_sample(id).with_key(name_of(id))});
    // A pass follows the order of the selection, so a position is an index. Samples left out keep
    // 0.
    lengths_[static_cast<size_t>(batch.positions[static_cast<size_t>(row)])] = static_cast<uint32_t>(length);
    return {};
  }

  std::string name_of(int64_t id) const {
    return (input_.branch ? input_.branch->name + ": " : std::string()) + input_.source->key(id);
  }

  const CompileInput& input_;
  const PassCallbacks& callbacks_;
  std::vector<uint32_t>& lengths_;
};

}  // namespace

Result<std::shared_ptr<const MarkedSamples>> run_filter(const CompileInput& input, const SizingInput& sizes,
                                                        const PassCallbacks& callbacks) {
  std::vector<uint64_t> bits(static_cast<size_t>((input.selection->size() + 63) / 64));
  FOREBAY_RETURN_IF_ERROR(
      read_all(input, place_of(input.description->steps(), input.end), sizes, {}, callbacks, [&](const Batch& batch) {
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
  const std::vector<std::string> fields = packed_fields(*find_step(*input.description, OpEffect::kPacking));
  LengthPass pass(input, callbacks, lengths);
  CompileInput rows = input;
  // The fields of batches are those of blocks, which this pass does not make.
  if (input.branch) rows.branch = CompileInput::BranchName{input.branch->name};
  FOREBAY_RETURN_IF_ERROR(read_all(rows, "pack", sizes, std::set<std::string>(fields.begin(), fields.end()), callbacks,
                                   [&](const Batch& batch) { return pass.add(batch); }));
  return lengths;
}

namespace {

// The input of a pass over one field, as it is after the first steps of a description.
class FieldPass {
 public:
  FieldPass(const CompileInput& whole, size_t end, const std::string& field)
      : step_(place_of(whole.description->steps(), end)) {
    const std::vector<OpSpec>& steps = whole.description->steps();
    std::vector<OpSpec> first(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(end));
    OpSpec alone;
    alone.name = "select";
    alone.args["fields"] = std::vector<std::string>{field};
    first.push_back(std::move(alone));
    description_ = Description::of(std::move(first));
    input_ = {.description = &description_,
              .end = end + 1,
              .source = whole.source,
              .selection = whole.selection,
              .seed = whole.seed};
    if (whole.branch) input_.branch = CompileInput::BranchName{whole.branch->name};
    if (whole.numbers.empty()) return;
    // The added step has the number of the last one before it: its own is never asked for.
    numbers_.assign(whole.numbers.begin(), whole.numbers.begin() + static_cast<std::ptrdiff_t>(end));
    numbers_.push_back(numbers_.back());
    input_.numbers = numbers_;
  }
  FieldPass(const FieldPass&) = delete;
  FieldPass& operator=(const FieldPass&) = delete;

  const CompileInput& input() const { return input_; }
  /// The step behind those, which needs the field.
  const std::string& step() const { return step_; }

 private:
  const std::string step_;
  Description description_;
  std::vector<size_t> numbers_;
  CompileInput input_;
};

Status add_numbers(const Batch& batch, std::vector<double>& numbers) {
  const BatchField& field = batch.fields.front();
  const bool is_number = field.kind == BatchField::Kind::kDense && field.values.shape.rank() == 1;
  if (!is_number)
    return invalid_argument(fmt::format("the field '{}' is not one number", field.name)).with_sample(batch.ids.front());
  Tensor converted = Tensor::allocate(DType::kFloat64, field.values.shape);
  cast_elements(field.values.dtype, field.values.buffer.data(), DType::kFloat64, converted.buffer.data(), batch.size(),
                Rounding::kTowardZero);
  for (int64_t row = 0; row < batch.size(); ++row)
    numbers[static_cast<size_t>(batch.positions[static_cast<size_t>(row)])] = converted.data<double>()[row];
  return {};
}

Result<std::vector<float>> measured(const FieldPass& pass, const std::string& field, const StoredLengths& kept,
                                    const SizingInput& sizes, const PassCallbacks& callbacks) {
  const auto begun = std::chrono::steady_clock::now();
  bool all_good = true;
  const PassCallbacks watched{callbacks.on_runner, [&](const RowError& error) {
                                all_good = false;
                                return callbacks.on_bad_sample(error);
                              }};
  std::vector<float> lengths(static_cast<size_t>(pass.input().selection->size()), 1);
  FOREBAY_RETURN_IF_ERROR(read_all(pass.input(), pass.step(), sizes, {field}, watched,
                                   [&](const Batch& batch) { return add_lengths(batch, lengths); }));
  // A bad sample may be good in a later run.
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begun;
  if (all_good) kept.keep(lengths, time.count());
  return lengths;
}

}  // namespace

Result<std::vector<float>> measure_field(const CompileInput& input, const SizingInput& sizes,
                                         const PassCallbacks& callbacks) {
  const OpSpec* const bucket = measuring_step(*input.description);
  const std::string field = measured_field(*bucket);
  // Without open_cache: entries of this field alone would be of no use to the epochs.
  const FieldPass pass(input, static_cast<size_t>(bucket - input.description->steps().data()), field);
  FOREBAY_ASSIGN(const StoredLengths kept, StoredLengths::open(pass.input(), field, sizes));
  if (std::optional<std::vector<float>> known = kept.find()) return *std::move(known);
  return measured(pass, field, kept, sizes, callbacks);
}

Result<std::shared_ptr<const SampleClasses>> read_classes(const CompileInput& input, size_t end,
                                                          const std::string& field, const SizingInput& sizes,
                                                          const PassCallbacks& callbacks) {
  const FieldPass pass(input, end, field);
  const auto classes = std::make_shared<SampleClasses>(input.selection->size());
  FOREBAY_RETURN_IF_ERROR(read_all(pass.input(), pass.step(), sizes, {}, callbacks,
                                   [&](const Batch& batch) { return classes->add(batch); }));
  classes->finish();
  return std::shared_ptr<const SampleClasses>(classes);
}

Result<std::vector<double>> read_numbers(const CompileInput& input, size_t end, const std::string& field,
                                         const SizingInput& sizes, const PassCallbacks& callbacks) {
  const FieldPass pass(input, end, field);
  std::vector<double> numbers(static_cast<size_t>(input.selection->size()));
  FOREBAY_RETURN_IF_ERROR(read_all(pass.input(), pass.step(), sizes, {}, callbacks,
                                   [&](const Batch& batch) { return add_numbers(batch, numbers); }));
  return numbers;
}

}  // namespace forebay
