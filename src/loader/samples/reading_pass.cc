#include "loader/samples/reading_pass.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "loader/compile/bucket_step.h"
#include "loader/compile/ordering.h"
#include "loader/compile/packing_step.h"
#include "loader/describe/step_arguments.h"
#include "loader/samples/lengths_in_index.h"
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

// A packed field of a sample, with its length there.
struct NamedLength {
  const std::string& name;
  int64_t length;
};

// The error of a sample whose packed fields differ in length.
Status check_equal(std::span<const NamedLength> fields) {
  const NamedLength& first = fields.front();
  for (const NamedLength& field : fields) {
    if (field.length == first.length) continue;
    return Status(Code::kCorrupt, fmt::format("'{}' has {} elements and '{}' has {}; fields that .pack() puts side by "
                                              "side have one length in each sample",
                                              first.name, first.length, field.name, field.length));
  }
  return {};
}

// Adds the figures of a batch of a pass, or of single samples, to those of all samples.
class RowsPass {
 public:
  RowsPass(const CompileInput& input, const PassCallbacks& callbacks)
      : input_(input), callbacks_(callbacks), pack_(*find_step(*input.description, OpEffect::kPacking)),
        packed_(packed_fields(pack_)), limited_(limited_fields(pack_)) {
    const auto samples = static_cast<size_t>(input.selection->size());
    rows_.lengths.resize(samples);
    rows_.costs.assign(limited_.size(), std::vector<uint32_t>(samples));
  }

  std::set<std::string> fields() const {
    std::set<std::string> names(packed_.begin(), packed_.end());
    names.insert(limited_.begin(), limited_.end());
    return names;
  }

  Status add(const Batch& batch) {
    std::vector<FieldLengths> fields;
    for (const std::string& name : packed_) {
      const BatchField* const field = batch.find(name);
      if (field == nullptr) continue;  // of a batch whose samples are all left out
      fields.emplace_back(batch, *field);
      FOREBAY_RETURN_IF_ERROR(fields.back().check());
    }
    for (int64_t row = 0; row < batch.size(); ++row) {
      const auto at = static_cast<size_t>(row);
      lengths_.clear();
      for (const FieldLengths& field : fields) lengths_.push_back({field.name(), field.of(row)});
      // A pass follows the order of the selection, so a position is an index.
      const auto index = static_cast<size_t>(batch.positions[at]);
      FOREBAY_RETURN_IF_ERROR(add_lengths(index, batch.ids[at]));
      FOREBAY_RETURN_IF_ERROR(add_costs(batch, row, index));
    }
    return {};
  }

  // Takes all lengths from the index of the data set. Returns false if it lacks some.
  Result<bool> add_known() {
    std::vector<LengthsInIndex> known;
    const auto step = static_cast<size_t>(&pack_ - input_.description->steps().data());
    for (const std::string& name : packed_) {
      const std::optional<LengthsInIndex> lengths = LengthsInIndex::find(input_, step, name);
      if (!lengths || !limited_.empty()) return false;
      known.push_back(*lengths);
    }
    for (int64_t index = 0; index < input_.selection->size(); ++index) {
      const int64_t id = input_.selection->id_at(index);
      lengths_.clear();
      for (size_t i = 0; i < known.size(); ++i) lengths_.push_back({packed_[i], known[i](id)});
      FOREBAY_RETURN_IF_ERROR(add_lengths(static_cast<size_t>(index), id));
    }
    return true;
  }

  SequenceSizes take() && { return std::move(rows_); }

 private:
  // Adds `lengths_`. Samples left out keep 0.
  Status add_lengths(size_t index, int64_t id) {
    const int64_t length = lengths_.front().length;
    if (length > UINT32_MAX)
      return unsupported(fmt::format("a row of {} numbers is to be packed, and 2^32 - 1 is the most", length))
          .with_sample(id);
    if (Status status = check_equal(lengths_); !status.ok())
      return callbacks_.on_bad_sample(
          {.row = 0,
           .id = id,
           .status = std::move(status).with_operator("pack").with_sample(id).with_key(name_of(id))});
    rows_.lengths[index] = static_cast<uint32_t>(length);
    return {};
  }

  Status add_costs(const Batch& batch, int64_t row, size_t index) {
    for (size_t i = 0; i < limited_.size(); ++i) {
      const BatchField* const field = batch.find(limited_[i]);
      const double cost = field != nullptr ? told_by(*field, row) : -1;
      if (!(cost >= 0 && cost < UINT32_MAX))
        return invalid_argument(fmt::format("limits=: the field '{}' is {}; a cost is 0 or above, and below 2^32",
                                            limited_[i], field != nullptr ? fmt::format("{}", cost) : "not there"))
            .with_operator("pack")
            .with_sample(batch.ids[static_cast<size_t>(row)]);
      rows_.costs[i][index] = static_cast<uint32_t>(std::ceil(cost));
    }
    return {};
  }

  std::string name_of(int64_t id) const {
    return (input_.branch ? input_.branch->name + ": " : std::string()) + input_.source->key(id);
  }

  const CompileInput& input_;
  const PassCallbacks& callbacks_;
  const OpSpec& pack_;
  const std::vector<std::string> packed_, limited_;
  std::vector<NamedLength> lengths_;  // of one sample
  SequenceSizes rows_;
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

Result<SequenceSizes> measure_rows(const CompileInput& input, const SizingInput& sizes,
                                   const PassCallbacks& callbacks) {
  RowsPass pass(input, callbacks);
  FOREBAY_ASSIGN(const bool known, pass.add_known());
  if (known) return std::move(pass).take();
  CompileInput rows = input;
  // The fields of batches are those of blocks, which this pass does not make.
  if (input.branch) rows.branch = CompileInput::BranchName{input.branch->name};
  FOREBAY_RETURN_IF_ERROR(
      read_all(rows, "pack", sizes, pass.fields(), callbacks, [&](const Batch& batch) { return pass.add(batch); }));
  return std::move(pass).take();
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
  const auto step = static_cast<size_t>(bucket - input.description->steps().data());
  if (const auto known = LengthsInIndex::find(input, step, field)) {
    std::vector<float> lengths;
    for (int64_t index = 0; index < input.selection->size(); ++index)
      lengths.push_back(kept_length(static_cast<double>((*known)(input.selection->id_at(index)))));
    return lengths;
  }
  // Without open_cache: entries of this field alone would be of no use to the epochs.
  const FieldPass pass(input, step, field);
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
