#include "loader/samples/lengths_by_headers.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/work_memory.h"
#include "loader/compile/needed_steps.h"
#include "loader/describe/check.h"
#include "loader/samples/head_source.h"
#include "loader/samples/lengths_in_index.h"
#include "ops/definition/args.h"
#include "ops/image/lazy_image.h"
#include "ops/image_size.h"
#include "pipeline/catalog.h"
#include "pipeline/selection.h"

namespace forebay {

namespace {

// Most headers fit the first, those with a thumbnail or a colour profile the second. Then the whole
// value is read.
constexpr uint64_t kHeadBytes[] = {4 << 10, 64 << 10, 0};

const OpDef& definition_of(const OpSpec& op) { return *catalog().find(op.name); }

// True if the step changes no value: it may rename or choose fields.
bool only_names(const OpDef& def) {
  return def.effect != OpEffect::kContent || def.role == OpRole::kNames || def.role == OpRole::kChoice;
}

std::shared_ptr<const Selection> selected(std::shared_ptr<const Selection> from, const std::vector<int64_t>& indices) {
  if (static_cast<int64_t>(indices.size()) == from->size()) return from;
  std::vector<uint64_t> bits(static_cast<size_t>((from->size() + 63) / 64));
  for (const int64_t index : indices)
    bits[static_cast<size_t>(index / 64)] |= uint64_t{1} << (static_cast<uint64_t>(index) % 64);
  return std::make_shared<const MarkedSamples>(std::move(from), std::move(bits));
}

// The elements of a row along its first axis; of a picture, its pixels.
double length_of_value(const Value& value) {
  if (const auto* const picture = dynamic_cast<const LazyImage*>(value.deferred.get()))
    return static_cast<double>(picture->height()) * static_cast<double>(picture->width());
  const Shape shape = value.shape();
  return shape.rank() > 0 ? static_cast<double>(shape[0]) : 1;
}

}  // namespace

std::optional<LengthsByHeaders> LengthsByHeaders::find(const CompileInput& input, size_t step, const std::string& field,
                                                       std::stop_token stop) {
  const Schema& all = input.source->schema();
  const Inference inference = infer(*input.description, all, catalog(), Rules::kFields);
  const NeededSteps needed = needed_steps(*input.description, step, inference, LiveFields({field}), catalog(),
                                          [&](const LiveFields&) { return all; });
  LengthsByHeaders found(input);
  if (!found.take_steps(needed.description, field, std::move(stop))) return std::nullopt;
  return found;
}

bool LengthsByHeaders::take_steps(const Description& needed, const std::string& field, std::stop_token stop) {
  const std::vector<OpSpec>& steps = needed.steps();
  const auto decoder = std::ranges::find(steps.begin() + 1, steps.end(), SizeEffect::kByHeader,
                                         [](const OpSpec& op) { return definition_of(op).sizes; });
  if (decoder == steps.end()) return false;
  const auto at = static_cast<size_t>(decoder - steps.begin());
  if (!std::all_of(steps.begin() + 1, decoder, [](const OpSpec& op) { return only_names(definition_of(op)); }))
    return false;
  const Inference inference = infer(needed, input_->source->schema(), catalog(), Rules::kFields);
  if (!take_decoder(*decoder, inference.schemas[at - 1], inference.schemas[at])) return false;
  before_.assign(steps.begin(), decoder);
  const std::optional<size_t> result = inference.schemas.back().find(field);
  if (!result || !take_changes(needed, at + 1, inference.schemas)) return false;
  result_ = *result;
  CompileInput named = *input_;
  named.description = &needed;
  if (const std::optional<std::string> name = name_in_source(named, at, encoded_)) {
    in_source_ = input_->source->schema().find(*name);
    if (in_source_) places_ = value_places(*input_->source, *in_source_, std::move(stop));
  }
  return true;
}

// The steps from the source up to the encoded field, and what the decoder makes of it.
bool LengthsByHeaders::take_decoder(const OpSpec& decoder, const Schema& before, const Schema& after) {
  const OpDef& def = definition_of(decoder);
  const FieldUse use = def.used(decoder, before);
  if (use.reads.size() != 1 || !use.or_else.empty()) return false;
  const std::optional<size_t> encoded = before.find(use.reads.front()), made = after.find(use.makes.front());
  if (!encoded || !made || before[*encoded].kind != FieldKind::kBytes) return false;
  encoded_ = use.reads.front();
  max_pixels_ = Args(decoder.args, def.args).integer("max_pixels");
  fields_ = after.size();
  picture_ = *made;
  pixels_ = {.channels = after[*made].shape[2], .dtype = after[*made].dtype};
  return true;
}

bool LengthsByHeaders::take_changes(const Description& needed, size_t begin, const std::vector<Schema>& schemas) {
  for (size_t i = begin; i < needed.steps().size(); ++i) {
    const OpSpec& op = needed.steps()[i];
    const OpDef& def = definition_of(op);
    if (def.effect != OpEffect::kContent || (def.role == OpRole::kValues && def.sizes == SizeEffect::kSame)) continue;
    if (!only_names(def) && def.sizes != SizeEffect::kBySizes) return false;
    Result<std::unique_ptr<RecordOp>> made = def.make(op, schemas[i - 1], 0);
    if (!made.ok()) return false;
    if (*made) changes_.push_back(std::move(*made));
  }
  return true;
}

// `head_bytes`: 0 for a pass that reads whole values.
Description LengthsByHeaders::reading(uint64_t head_bytes) const {
  std::vector<OpSpec> steps = before_;
  OpSpec size, alone;
  size.name = "image_size";
  size.args["field"] = encoded_;
  size.args["max_pixels"] = max_pixels_;
  size.args["head_bytes"] = head_bytes;
  alone.name = "select";
  alone.args["fields"] = std::vector<std::string>{encoded_};
  steps.push_back(std::move(size));
  steps.push_back(std::move(alone));
  return Description::of(std::move(steps));
}

Result<double> LengthsByHeaders::length_of(int64_t height, int64_t width, int64_t id) const {
  WorkMemory memory;
  Record record(fields_);
  UnreadPixels unread = pixels_;
  unread.height = height;
  unread.width = width;
  record[picture_] = Value::of(std::unique_ptr<Deferred>(LazyImage::of_unread(unread)));
  for (const std::unique_ptr<RecordOp>& change : changes_)
    FOREBAY_RETURN_IF_ERROR(change->apply(record, {.key = {.seed = input_->seed, .id = id}, .memory = &memory}));
  return length_of_value(record[result_]);
}

/// The passes that measure all samples. Each reads more of those that the one before left open.
class HeaderRounds {
 public:
  HeaderRounds(const LengthsByHeaders& by, const PassCallbacks& callbacks)
      : by_(by), callbacks_(callbacks),
        lengths_(static_cast<size_t>(by.input_->selection->size()), LengthsByHeaders::kLeftOut),
        open_(lengths_.size()) {
    std::iota(open_.begin(), open_.end(), int64_t{0});
  }

  Status run(const std::string& step, const SizingInput& sizes) {
    for (const uint64_t bytes : kHeadBytes) {
      if (bytes > 0 && !by_.places_) continue;
      if (bytes == 0) take_unturned();
      const std::vector<int64_t> now = std::exchange(open_, {});
      const Description description = by_.reading(bytes);
      CompileInput input = {.description = &description,
                            .end = description.steps().size(),
                            .source = by_.input_->source,
                            .selection = selected(by_.input_->selection, now),
                            .seed = by_.input_->seed};
      if (bytes > 0)
        input.source = ValueHeads{input.source, *by_.in_source_, by_.places_, input.selection, bytes}.open();
      if (by_.input_->branch) input.branch = CompileInput::BranchName{by_.input_->branch->name};
      FOREBAY_RETURN_IF_ERROR(
          run_pass(input, step, sizes, {}, callbacks_, [&](const Batch& batch) { return add(batch, now); }));
    }
    return {};
  }

  std::vector<double> take() && { return std::move(lengths_); }

 private:
  void take_unturned() {
    open_.insert(open_.end(), unturned_.begin(), unturned_.end());
    std::ranges::sort(open_);
  }

  // `indices`: those in the selection of all samples, by position in the pass.
  Status add(const Batch& batch, const std::vector<int64_t>& indices) {
    const auto* numbers = batch.fields.front().values.data<int64_t>();
    for (int64_t row = 0; row < batch.size(); ++row, numbers += 3) {
      const auto at = static_cast<size_t>(row);
      const int64_t index = indices[static_cast<size_t>(batch.positions[at])];
      FOREBAY_RETURN_IF_ERROR(add(index, batch.ids[at], numbers[0], numbers[1], static_cast<SizeState>(numbers[2])));
    }
    return {};
  }

  Status add(int64_t index, int64_t id, int64_t height, int64_t width, SizeState state) {
    if (state == SizeState::kNotRead) {
      open_.push_back(index);
      return {};
    }
    Result<double> length = by_.length_of(height, width, id);
    if (state == SizeState::kEither) {
      const Result<double> turned = by_.length_of(width, height, id);
      // The whole file tells the orientation.
      if (!length.ok() || !turned.ok() || *length != *turned) {
        unturned_.push_back(index);
        return {};
      }
    }
    if (length.ok()) {
      lengths_[static_cast<size_t>(index)] = *length;
      return {};
    }
    const CompileInput& input = *by_.input_;
    const std::string name = (input.branch ? input.branch->name + ": " : std::string()) + input.source->key(id);
    return callbacks_.on_bad_sample(
        {.row = 0, .id = id, .status = Status(length.status()).with_sample(id).with_key(name)});
  }

  const LengthsByHeaders& by_;
  const PassCallbacks& callbacks_;
  std::vector<double> lengths_;
  std::vector<int64_t> open_;      // samples of which more has to be read
  std::vector<int64_t> unturned_;  // samples whose length depends on an orientation that no head tells
};

Result<std::vector<double>> LengthsByHeaders::measure(const std::string& step, const SizingInput& sizes,
                                                      const PassCallbacks& callbacks) const {
  HeaderRounds rounds(*this, callbacks);
  FOREBAY_RETURN_IF_ERROR(rounds.run(step, sizes));
  return std::move(rounds).take();
}

}  // namespace forebay
