#include <cmath>

#include <fmt/format.h>

#include "ops/audio/changed_sound.h"
#include "ops/audio/decibel.h"
#include "ops/audio/sound_fields.h"
#include "ops/audio/white_noise.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

double energy(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return sum;
}

class NoisySound final : public ChangedSound {
 public:
  NoisySound(Value before, int step, RandomStream random, double snr)
      : ChangedSound(std::move(before), step), random_(random), snr_(snr) {}
  std::unique_ptr<Deferred> clone() const override { return std::make_unique<NoisySound>(*this); }

 private:
  Status change(std::span<float> values, WorkMemory& memory) override {
    // The loudness of the noise is known only after all of it has been drawn.
    FOREBAY_RETURN_IF_ERROR(memory.reserve(values.size_bytes()));
    const std::span<float> noise = {reinterpret_cast<float*>(memory.scratch(2, values.size_bytes()).data()),
                                    values.size()};
    // A copy, so that a second write (a retry, for example) gets the same noise.
    RandomStream random = random_;
    fill_white_noise(random, noise);
    const double loud = energy(values), noisy = energy(noise);
    // An empty sound has no noise, and the quotient would be NaN.
    const double factor = noisy > 0 ? std::sqrt(loud / noisy) / amplitude_of_db(snr_) : 0.0;
    for (size_t i = 0; i < values.size(); ++i) values[i] += static_cast<float>(factor) * noise[i];
    memory.release(values.size_bytes());
    return {};
  }
  RandomStream random_;
  double snr_;
};

class AddNoise final : public RecordOp {
 public:
  AddNoise(std::vector<SoundField> fields, NumberRange snr, double p, uint32_t operation)
      : fields_(std::move(fields)), snr_(snr), p_(p), operation_(operation) {}

  Status apply(Record& record, const SampleContext& context) const override {
    RandomStream random(context.key, operation_);
    const bool changes = random.uniform() < p_;
    // Drawn whether it is used or not, so that p does not change other draws.
    const double snr = random.uniform(snr_.low, snr_.high);
    for (const SoundField& field : fields_) {
      Value& value = record[field.index];
      FOREBAY_RETURN_IF_ERROR(check_sound_value(value, field.name));
      if (!changes) continue;
      value = Value::of(std::unique_ptr<Deferred>(
          std::make_unique<NoisySound>(std::move(value), context.memory->meter().current(), random, snr)));
    }
    return {};
  }

 private:
  std::vector<SoundField> fields_;
  NumberRange snr_;
  double p_;
  uint32_t operation_;
};

void infer_add_noise(const Args& args, Schema& schema, Problems& problems) {
  check_sounds(args, "add_noise", schema, problems);
  check_range(args, "snr", problems);
  check_probability(args, problems);
}

Result<std::unique_ptr<RecordOp>> compile_add_noise(const Args& args, const Schema& before, uint32_t random_index) {
  return std::unique_ptr<RecordOp>(
      std::make_unique<AddNoise>(sound_fields(args, before), range_of(args, "snr"), args.number("p"), random_index));
}

}  // namespace

OpDef add_noise_op() {
  return make_op(
      {.name = "add_noise",
       .group = OpGroup::kSound,
       .help = "Adds white noise, whose energy is that of the sound less a random number of decibels.",
       .args = {{"snr", ArgType::kRange, false, Json::array({10.0, 40.0}),
                 "ratio of the sound's energy to the noise's, in decibels: low and high, or one number"},
                {"p", ArgType::kFloat, false, 1.0, "probability that noise is added at all", ArgForm::kNamed},
                sound_field_arg("a field that holds sound, or a list of them, which share one draw")},
       .random = true,
       .infer = infer_add_noise,
       .compile = compile_add_noise});
}

}  // namespace forebay
