#include <fmt/format.h>

#include "ops/audio/changed_sound.h"
#include "ops/audio/decibel.h"
#include "ops/audio/sound_fields.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

class LouderSound final : public ChangedSound {
 public:
  LouderSound(Value before, int step, float factor) : ChangedSound(std::move(before), step), factor_(factor) {}
  std::unique_ptr<Deferred> clone() const override { return std::make_unique<LouderSound>(*this); }

 private:
  Status change(std::span<float> values, WorkMemory&) override {
    for (float& value : values) value *= factor_;
    return {};
  }
  float factor_;
};

class RandomGain final : public RecordOp {
 public:
  RandomGain(std::vector<SoundField> fields, NumberRange db, double p, uint32_t operation)
      : fields_(std::move(fields)), db_(db), p_(p), operation_(operation) {}

  Status apply(Record& record, const SampleContext& context) const override {
    RandomStream random(context.key, operation_);
    const bool changes = random.uniform() < p_;
    // Drawn whether it is used or not, so that p does not change other draws.
    const auto factor = static_cast<float>(amplitude_of_db(random.uniform(db_.low, db_.high)));
    for (const SoundField& field : fields_) {
      Value& value = record[field.index];
      FOREBAY_RETURN_IF_ERROR(check_sound_value(value, field.name));
      if (!changes) continue;
      value = Value::of(std::unique_ptr<Deferred>(
          std::make_unique<LouderSound>(std::move(value), context.memory->meter().current(), factor)));
    }
    return {};
  }

 private:
  std::vector<SoundField> fields_;
  NumberRange db_;
  double p_;
  uint32_t operation_;
};

void infer_random_gain(const Args& args, Schema& schema, Problems& problems) {
  check_sounds(args, "random_gain", schema, problems, /*spectra=*/false, /*lists=*/true);
  check_range(args, "db", problems);
  check_probability(args, problems);
}

Result<std::unique_ptr<RecordOp>> compile_random_gain(const Args& args, const Schema& before, uint32_t random_index) {
  return std::unique_ptr<RecordOp>(std::make_unique<RandomGain>(sound_fields(args, before), range_of(args, "db", true),
                                                                args.number("p"), random_index));
}

}  // namespace

OpDef random_gain_op() {
  return make_op({.name = "random_gain",
                  .group = OpGroup::kSound,
                  .help = "Makes sound louder or quieter by a random number of decibels.",
                  .args = {{"db", ArgType::kRange, false, Json::array({-6.0, 6.0}),
                            "low and high; one number x stands for -x to x"},
                           {"p", ArgType::kFloat, false, 1.0, "probability that it is changed at all", ArgForm::kNamed},
                           sound_field_arg("a field that holds sound, or a list of them, which share one draw")},
                  .random = true,
                  .infer = infer_random_gain,
                  .compile = compile_random_gain});
}

}  // namespace forebay
