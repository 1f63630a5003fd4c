#include "loader/samples/reading_pass.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "loader/compile/bucket_step.h"
#include "loader/compile/packing_step.h"
#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "loader/samples/lengths_by_headers.h"
#include "loader/samples/lengths_in_index.h"
#include "loader/samples/sample_lengths.h"
#include "loader/samples/stored_lengths.h"
#include "ops/image/cast_elements.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

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

// True if a field is a picture before step `end`. Lists of pictures are none.
bool is_picture(const CompileInput& input, size_t end, const std::string& field) {
  const Schema schema = infer(*input.description, input.source->schema(), catalog(), Rules::kFields).schemas[end - 1];
  const std::optional<size_t> index = schema.find(field);
  return index && schema[*index].kind == FieldKind::kTensor && schema[*index].image && schema[*index].shape.rank() < 4;
}

// The step that puts the size of a picture into its place.
OpSpec size_step(const std::string& field) {
  OpSpec size;
  size.name = "image_size";
  size.args["field"] = field;
  return size;
}

enum class FieldForm : uint8_t {
  kValue,
  kSize,  // of a picture
};

// The input of a pass over one field, as it is after the first steps of a description.
class FieldPass {
 public:
  FieldPass(const CompileInput& whole, size_t end, const std::string& field, FieldForm form = FieldForm::kValue)
      : step_(place_of(whole.description->steps(), end)) {
    const std::vector<OpSpec>& steps = whole.description->steps();
    std::vector<OpSpec> first(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(end));
    OpSpec alone;
    alone.name = "select";
    alone.args["fields"] = std::vector<std::string>{field};
    first.push_back(std::move(alone));
    if (form == FieldForm::kSize) first.push_back(size_step(field));
    description_ = Description::of(std::move(first));
    input_ = {.description = &description_,
              .end = description_.steps().size(),
              .source = whole.source,
              .selection = whole.selection,
              .seed = whole.seed};
    if (whole.branch) input_.branch = CompileInput::BranchName{whole.branch->name};
    if (whole.numbers.empty()) return;
    // Added steps have the number of the last one before them: their own is never asked for.
    numbers_.assign(whole.numbers.begin(), whole.numbers.begin() + static_cast<std::ptrdiff_t>(end));
    numbers_.resize(description_.steps().size(), numbers_.back());
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

// Adds the pixels of pictures, of which the batch has the sizes.
Status add_pixels(const Batch& batch, std::vector<double>& lengths) {
  const auto* size = batch.fields.front().values.data<int64_t>();
  for (int64_t row = 0; row < batch.size(); ++row, size += 3)
    lengths[static_cast<size_t>(batch.positions[static_cast<size_t>(row)])] =
        static_cast<double>(size[0]) * static_cast<double>(size[1]);
  return {};
}

// The lengths of a field that is a picture, or is made of one in such a way that its header tells
// its length, by index in the selection; LengthsByHeaders::kLeftOut for bad samples. Nothing for
// other fields.
Result<std::optional<std::vector<double>>> picture_lengths(const CompileInput& input, size_t step,
                                                           const std::string& field, const SizingInput& sizes,
                                                           const PassCallbacks& callbacks) {
  if (const auto headers = LengthsByHeaders::find(input, step, field, callbacks.stop)) {
    FOREBAY_ASSIGN(std::vector<double> lengths,
                   headers->measure(place_of(input.description->steps(), step), sizes, callbacks));
    return std::optional(std::move(lengths));
  }
  if (!is_picture(input, step, field)) return std::optional<std::vector<double>>();
  const FieldPass pass(input, step, field, FieldForm::kSize);
  std::vector<double> lengths(static_cast<size_t>(input.selection->size()), LengthsByHeaders::kLeftOut);
  FOREBAY_RETURN_IF_ERROR(run_pass(pass.input(), pass.step(), sizes, {}, callbacks,
                                   [&](const Batch& batch) { return add_pixels(batch, lengths); }));
  return std::optional(std::move(lengths));
}

// Adds the figures of a batch of a pass, or of single samples, to those of all samples.
class RowsPass {
 public:
  RowsPass(const CompileInput& input, const PassCallbacks& callbacks)
      : input_(input), callbacks_(callbacks), pack_(*find_step(*input.description, OpEffect::kPacking)),
        packed_(packed_fields(pack_)), limited_(limited_fields(pack_)) {
    const auto samples = static_cast<size_t>(input.selection->size());
    rows_.lengths.resize(samples);
    comes_.resize(samples);
    rows_.costs.assign(limited_.size(), std::vector<uint32_t>(samples));
  }

  std::set<std::string> fields() const {
    std::set<std::string> names(packed_.begin(), packed_.end());
    for (const std::string& name : limited_)
      if (!measured_.contains(name)) names.insert(name);
    return names;
  }
  const std::set<std::string>& measured() const { return measured_; }

  // Measures the limited fields that need a pass of their own: pictures, and rows that are made of
  // them.
  Status measure_pictures(const SizingInput& sizes) {
    for (size_t i = 0; i < limited_.size(); ++i) {
      FOREBAY_ASSIGN(const auto costs, picture_lengths(input_, step(), limited_[i], sizes, callbacks_));
      if (!costs) continue;
      measured_.insert(limited_[i]);
      for (size_t index = 0; index < costs->size(); ++index) {
        const double cost = (*costs)[index];
        if (cost == LengthsByHeaders::kLeftOut)
          left_out_.insert(static_cast<int64_t>(index));
        else
          FOREBAY_RETURN_IF_ERROR(add_cost(i, cost, index, input_.selection->id_at(static_cast<int64_t>(index))));
      }
    }
    return {};
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
    for (const std::string& name : packed_) {
      const std::optional<LengthsInIndex> lengths = LengthsInIndex::find(input_, step(), name);
      if (!lengths || measured_.size() < limited_.size()) return false;
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

  // Samples that are left out, for whatever reason, cost nothing.
  SequenceSizes take() && {
    for (std::vector<uint32_t>& costs : rows_.costs)
      for (size_t index = 0; index < costs.size(); ++index)
        if (!comes_[index]) costs[index] = 0;
    return std::move(rows_);
  }

 private:
  size_t step() const { return static_cast<size_t>(&pack_ - input_.description->steps().data()); }

  // Adds `lengths_`. Samples left out keep 0.
  Status add_lengths(size_t index, int64_t id) {
    if (left_out_.contains(static_cast<int64_t>(index))) return {};
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
    comes_[index] = true;
    return {};
  }

  Status add_costs(const Batch& batch, int64_t row, size_t index) {
    for (size_t i = 0; i < limited_.size(); ++i) {
      if (measured_.contains(limited_[i])) continue;
      const BatchField* const field = batch.find(limited_[i]);
      const std::optional<double> cost = field != nullptr ? std::optional(told_by(*field, row)) : std::nullopt;
      FOREBAY_RETURN_IF_ERROR(add_cost(i, cost, index, batch.ids[static_cast<size_t>(row)]));
    }
    return {};
  }

  Status add_cost(size_t i, std::optional<double> cost, size_t index, int64_t id) {
    if (!(cost >= 0 && cost < UINT32_MAX))
      return invalid_argument(fmt::format("limits=: the field '{}' is {}; a cost is 0 or above, and below 2^32",
                                          limited_[i], cost ? fmt::format("{}", *cost) : "not there"))
          .with_operator("pack")
          .with_sample(id);
    rows_.costs[i][index] = static_cast<uint32_t>(std::ceil(*cost));
    return {};
  }

  std::string name_of(int64_t id) const {
    return (input_.branch ? input_.branch->name + ": " : std::string()) + input_.source->key(id);
  }

  const CompileInput& input_;
  const PassCallbacks& callbacks_;
  const OpSpec& pack_;
  const std::vector<std::string> packed_, limited_;
  std::set<std::string> measured_;    // those of limited_ that measure_pictures() has measured
  std::set<int64_t> left_out_;        // samples whose pictures are bad, by index
  std::vector<bool> comes_;           // by index; false for bad samples
  std::vector<NamedLength> lengths_;  // of one sample
  SequenceSizes rows_;
};

}  // namespace

Result<std::shared_ptr<const MarkedSamples>> run_filter(const CompileInput& input, const SizingInput& sizes,
                                                        const PassCallbacks& callbacks) {
  std::vector<uint64_t> bits(static_cast<size_t>((input.selection->size() + 63) / 64));
  FOREBAY_RETURN_IF_ERROR(
      run_pass(input, place_of(input.description->steps(), input.end), sizes, {}, callbacks, [&](const Batch& batch) {
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
  FOREBAY_RETURN_IF_ERROR(pass.measure_pictures(sizes));
  FOREBAY_ASSIGN(const bool known, pass.add_known());
  if (known) return std::move(pass).take();
  CompileInput rows = input;
  rows.measured = pass.measured();
  // The fields of batches are those of blocks, which this pass does not make.
  if (input.branch) rows.branch = CompileInput::BranchName{input.branch->name};
  FOREBAY_RETURN_IF_ERROR(
      run_pass(rows, "pack", sizes, pass.fields(), callbacks, [&](const Batch& batch) { return pass.add(batch); }));
  return std::move(pass).take();
}

namespace {

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

Result<std::vector<float>> measured(const CompileInput& input, size_t step, const FieldPass& pass,
                                    const std::string& field, const StoredLengths& kept, const SizingInput& sizes,
                                    const PassCallbacks& callbacks) {
  const auto begun = std::chrono::steady_clock::now();
  bool all_good = true;
  PassCallbacks watched = callbacks;
  watched.on_bad_sample = [&](const RowError& error) {
    all_good = false;
    return callbacks.on_bad_sample(error);
  };
  std::vector<float> lengths(static_cast<size_t>(pass.input().selection->size()), 1);
  FOREBAY_ASSIGN(const auto of_pictures, picture_lengths(input, step, field, sizes, watched));
  for (size_t index = 0; of_pictures && index < lengths.size(); ++index)
    lengths[index] = kept_length(std::max((*of_pictures)[index], 0.0));
  if (!of_pictures) {
    FOREBAY_RETURN_IF_ERROR(run_pass(pass.input(), pass.step(), sizes, {field}, watched,
                                     [&](const Batch& batch) { return add_lengths(batch, lengths); }));
  }
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
  return measured(input, step, pass, field, kept, sizes, callbacks);
}

Result<std::shared_ptr<const SampleClasses>> read_classes(const CompileInput& input, size_t end,
                                                          const std::string& field, const SizingInput& sizes,
                                                          const PassCallbacks& callbacks) {
  const FieldPass pass(input, end, field);
  const auto classes = std::make_shared<SampleClasses>(input.selection->size());
  FOREBAY_RETURN_IF_ERROR(run_pass(pass.input(), pass.step(), sizes, {}, callbacks,
                                   [&](const Batch& batch) { return classes->add(batch); }));
  classes->finish();
  return std::shared_ptr<const SampleClasses>(classes);
}

Result<std::vector<double>> read_numbers(const CompileInput& input, size_t end, const std::string& field,
                                         const SizingInput& sizes, const PassCallbacks& callbacks) {
  const FieldPass pass(input, end, field);
  std::vector<double> numbers(static_cast<size_t>(input.selection->size()));
  FOREBAY_RETURN_IF_ERROR(run_pass(pass.input(), pass.step(), sizes, {}, callbacks,
                                   [&](const Batch& batch) { return add_numbers(batch, numbers); }));
  return numbers;
}

}  // namespace forebay
