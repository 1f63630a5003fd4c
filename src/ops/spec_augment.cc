#include <algorithm>

#include <fmt/format.h>

#include "ops/audio/changed_sound.h"
#include "ops/audio/sound_fields.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

constexpr int64_t kMaxMasks = 1000;

struct Masks {
  int64_t count = 0, longest = 0;
};

struct SpecAugmentSpec {
  Masks time, freq;
  double share = 1.0;  ///< largest fraction of the frames in one mask
  float value = 0;
};

// Sets rows and columns of a (rows, frames) picture to one value. The draws are those of
// torchaudio: a width below the maximum, then a place where it fits.
class MaskedSpectra final : public ChangedSound {
 public:
  MaskedSpectra(Value before, int step, RandomStream random, const SpecAugmentSpec& spec)
      : ChangedSound(std::move(before), step), random_(random), spec_(spec) {}
  std::unique_ptr<Deferred> clone() const override { return std::make_unique<MaskedSpectra>(*this); }

 private:
  struct Stretch {
    int64_t begin, end;
  };

  static Stretch draw(RandomStream& random, int64_t longest, int64_t size) {
    const double width = random.uniform() * static_cast<double>(std::min(longest, size));
    const double begin = random.uniform() * (static_cast<double>(size) - width);
    return {static_cast<int64_t>(begin), static_cast<int64_t>(begin) + static_cast<int64_t>(width)};
  }

  Status change(std::span<float> values, WorkMemory&) override {
    const Shape all = shape();
    const int64_t rows = all[all.rank() - 2], frames = all[all.rank() - 1];
    // A copy, so that a second write gets the same masks.
    RandomStream random = random_;
    const auto most = static_cast<int64_t>(spec_.share * static_cast<double>(frames));
    for (int64_t i = 0; i < spec_.time.count; ++i) {
      // One mask for all channels, because they are one recording.
      const Stretch mask = draw(random, std::min(spec_.time.longest, most), frames);
      for (size_t row = 0; row < values.size(); row += static_cast<size_t>(frames)) put(values, row, mask, 1);
    }
    for (int64_t i = 0; i < spec_.freq.count; ++i) {
      const Stretch mask = draw(random, spec_.freq.longest, rows);
      for (size_t at = 0; at < values.size(); at += static_cast<size_t>(rows * frames)) put(values, at, mask, frames);
    }
    return {};
  }

  void put(std::span<float> values, size_t at, Stretch mask, int64_t step) const {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(at);
    std::fill(begin + mask.begin * step, begin + mask.end * step, spec_.value);
  }

  RandomStream random_;
  SpecAugmentSpec spec_;
};

class SpecAugment final : public RecordOp {
 public:
  SpecAugment(std::vector<SoundField> fields, const SpecAugmentSpec& spec, uint32_t operation)
      : fields_(std::move(fields)), spec_(spec), operation_(operation) {}

  Status apply(Record& record, const SampleContext& context) const override {
    for (const SoundField& field : fields_) {
      Value& value = record[field.index];
      FOREBAY_RETURN_IF_ERROR(check_sound_value(value, field.name, 3));
      if (value.shape().rank() < 2)
        return unsupported(fmt::format("the field '{}' has one axis, and masks lie in (rows, frames)", field.name));
      // There is nothing to mask, and rows of zero frames would make the loop endless.
      if (value.nbytes() == 0) continue;
      value = Value::of(std::unique_ptr<Deferred>(std::make_unique<MaskedSpectra>(
          std::move(value), context.memory->meter().current(), RandomStream(context.key, operation_), spec_)));
    }
    return {};
  }

 private:
  std::vector<SoundField> fields_;
  SpecAugmentSpec spec_;
  uint32_t operation_;
};

void check_count(const Args& args, std::string_view name, int64_t most, Problems& problems) {
  const int64_t value = args.integer(name);
  if (value < 0 || value > most) problems.add(fmt::format("{} is {}", name, value), fmt::format("give 0 to {}", most));
}

void infer_spec_augment(const Args& args, Schema& schema, Problems& problems) {
  for (const char* name : {"time_masks", "freq_masks"}) check_count(args, name, kMaxMasks, problems);
  for (const char* name : {"time_mask_param", "freq_mask_param"}) check_count(args, name, INT32_MAX, problems);
  check_probability(args, problems);
  for (const size_t index : check_sounds(args, "spec_augment", schema, problems, true)) {
    const Field& field = schema[index];
    if (field.kind != FieldKind::kTensor) continue;
    if (field.sound == SoundForm::kSamples || field.shape.rank() < 2)
      problems.add(fmt::format("the field '{}' holds samples, no spectra", field.name),
                   "put .mel_spectrogram() or .mfcc() before .spec_augment");
  }
}

Result<std::unique_ptr<RecordOp>> compile_spec_augment(const Args& args, const Schema& before, uint32_t random_index) {
  const SpecAugmentSpec spec = {{args.integer("time_masks"), args.integer("time_mask_param")},
                                {args.integer("freq_masks"), args.integer("freq_mask_param")},
                                args.number("p"),
                                static_cast<float>(args.number("value"))};
  return std::unique_ptr<RecordOp>(std::make_unique<SpecAugment>(sound_fields(args, before), spec, random_index));
}

}  // namespace

OpDef spec_augment_op() {
  return make_op(
      {.name = "spec_augment",
       .group = OpGroup::kSound,
       .help = "Random stretches of frames and of bands become one value: SpecAugment's masks without its warping, "
               "drawn as torchaudio draws them.",
       .args = {{"time_masks", ArgType::kInt, false, 2, "stretches of frames"},
                {"freq_masks", ArgType::kInt, false, 2, "stretches of bands"},
                {"time_mask_param", ArgType::kInt, false, 100, "a stretch is shorter than so many frames",
                 ArgForm::kNamed},
                {"freq_mask_param", ArgType::kInt, false, 27, "and than so many bands", ArgForm::kNamed},
                {"p", ArgType::kFloat, false, 1.0, "largest share of the frames that one stretch has", ArgForm::kNamed},
                {"value", ArgType::kFloat, false, 0.0,
                 "number in the masked places; after `log=\"db\"`, -100 is silence", ArgForm::kNamed},
                sound_field_arg("a field that holds spectra, or a list of them")},
       .random = true,
       .infer = infer_spec_augment,
       .compile = compile_spec_augment});
}

}  // namespace forebay
