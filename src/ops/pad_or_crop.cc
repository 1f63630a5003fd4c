#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "ops/audio/sound_fields.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

constexpr int64_t kLongestCut = int64_t{1} << 31;

// `length` samples of each channel from `start` on, with zeros after the last sample.
class CutSound final : public Deferred {
 public:
  CutSound(Tensor samples, int64_t start, int64_t length)
      : samples_(std::move(samples)), start_(start), length_(length) {}
  DType dtype() const override { return DType::kFloat32; }
  Shape shape() const override {
    Shape shape = samples_.shape;
    shape[shape.rank() - 1] = length_;
    return shape;
  }
  Status write(std::span<uint8_t> out, WorkMemory&) override {
    const int64_t had = samples_.shape[samples_.shape.rank() - 1], taken = std::min(length_, had - start_);
    const float* from = samples_.data<float>() + start_;
    auto* to = reinterpret_cast<float*>(out.data());
    for (int64_t i = 0, channels = static_cast<int64_t>(out.size() / sizeof(float)) / length_; i < channels; ++i) {
      if (taken > 0) std::memcpy(to, from, static_cast<size_t>(taken) * sizeof(float));
      std::fill(to + taken, to + length_, 0.0f);
      from += had, to += length_;
    }
    return {};
  }
  std::unique_ptr<Deferred> clone() const override { return std::make_unique<CutSound>(*this); }

 private:
  Tensor samples_;
  int64_t start_, length_;
};

class PadOrCrop final : public RecordOp {
 public:
  PadOrCrop(std::vector<SoundField> fields, int64_t length, bool random, uint32_t operation)
      : fields_(std::move(fields)), length_(length), random_(random), operation_(operation) {}

  Status apply(Record& record, const SampleContext& context) const override {
    // One draw for all fields: each skips the same fraction of its excess samples.
    const double share = random_ ? RandomStream(context.key, operation_).uniform() : 0.0;
    for (const SoundField& field : fields_) {
      Value& value = record[field.index];
      FOREBAY_RETURN_IF_ERROR(check_sound_value(value, field.name));
      FOREBAY_RETURN_IF_ERROR(value.materialize(*context.memory));
      const int64_t had = value.tensor.shape[value.tensor.shape.rank() - 1], more = std::max<int64_t>(0, had - length_);
      const auto start = std::min(more, static_cast<int64_t>(share * static_cast<double>(more + 1)));
      if (had != length_) value = Value::of(std::make_unique<CutSound>(std::move(value.tensor), start, length_));
    }
    return {};
  }

 private:
  std::vector<SoundField> fields_;
  int64_t length_;
  bool random_;
  uint32_t operation_;
};

int64_t cut_length(const Args& args, int64_t rate) {
  const double samples = args.number("seconds") * static_cast<double>(rate);
  return samples >= 0 && samples < static_cast<double>(kLongestCut) ? static_cast<int64_t>(std::nearbyint(samples)) : 0;
}

void infer_pad_or_crop(const Args& args, Schema& schema, Problems& problems) {
  const std::vector<size_t> fields = check_sounds(args, "pad_or_crop", schema, problems);
  const int64_t rate = check_known_rate(args, fields, schema, problems);
  if (rate == 0) return;
  const int64_t length = cut_length(args, rate);
  if (length < 1) {
    return problems.add(fmt::format("seconds is {}, with {} samples a second", args.number("seconds"), rate),
                        fmt::format("give a length of 1 to {} samples", kLongestCut - 1));
  }
  for (const size_t index : fields) {
    Field& field = schema[index];
    if (field.kind != FieldKind::kTensor) continue;
    field.shape[field.shape.rank() - 1] = length;
    field.sound = SoundForm::kSamples;
    field.rate = rate;
  }
}

Result<std::unique_ptr<RecordOp>> compile_pad_or_crop(const Args& args, const Schema& before, uint32_t random_index) {
  const int64_t length = cut_length(args, known_rate(args, before));
  return std::unique_ptr<RecordOp>(
      std::make_unique<PadOrCrop>(sound_fields(args, before), length, args.json("random").get<bool>(), random_index));
}

}  // namespace

OpDef pad_or_crop_op() {
  return make_op({.name = "pad_or_crop",
                  .group = OpGroup::kSound,
                  .help = "Sound of one length, `round(seconds * rate)` samples: what is longer is cut, what is "
                          "shorter has zeros behind.",
                  .args = {{"seconds", ArgType::kFloat, true, nullptr, "the length of all that comes out"},
                           {"random", ArgType::kBool, false, false, "cut at a random place; else the beginning stays",
                            ArgForm::kNamed, ArgUse::kRandom},
                           sound_rate_arg(),
                           sound_field_arg("a field that holds sound, or a list of them, which share one draw")},
                  .random = false,
                  .infer = infer_pad_or_crop,
                  .compile = compile_pad_or_crop});
}

}  // namespace forebay
