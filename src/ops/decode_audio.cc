#include <fmt/format.h>

#include "codec/audio/audio.h"
#include "codec/audio/sound_library.h"
#include "ops/audio/decode_sound.h"
#include "ops/audio/sound_fields.h"
#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/encoded_fields.h"

namespace forebay {
namespace {

constexpr DecodedKind kSound = {"audio", "decode_audio", "recordings"};

std::string rate_field(std::string_view name) { return fmt::format("{}_rate", name); }

class DecodeAudio final : public RecordOp {
 public:
  DecodeAudio(std::vector<size_t> fields, DecodeSoundOptions options) : fields_(std::move(fields)), options_(options) {}

  Status apply(Record& record, const SampleContext& context) const override {
    for (const size_t field : fields_) {
      FOREBAY_ASSIGN(const Buffer bytes, encoded_bytes(record[field], "recording"));
      FOREBAY_ASSIGN(Sound sound, decode_sound(bytes.span(), options_, *context.memory));
      record[field] = Value::of(std::move(sound.samples));
      // A requested rate is known in advance. Otherwise each sample has its own rate, in a field at
      // the same place in the schema.
      if (options_.rate > 0) continue;
      Tensor rate = Tensor::allocate(DType::kInt64, {});
      *rate.data<int64_t>() = sound.rate;
      record.push_back(Value::of(std::move(rate)));
    }
    return {};
  }

 private:
  std::vector<size_t> fields_;
  DecodeSoundOptions options_;
};

DecodeSoundOptions decode_sound_options(const Args& args) {
  return {args.has("rate") ? args.integer("rate") : 0, args.json("mono").get<bool>(),
          args.has("channels") ? args.integer("channels") : 0, args.integer("max_samples")};
}

void add_rate_field(const std::string& name, Schema& schema, Problems& problems) {
  if (schema.find(rate_field(name))) {
    return problems.add(fmt::format("there is a field '{}' already", rate_field(name)),
                        "rename it before, or give rate= to bring all recordings to one");
  }
  Field field;
  field.name = rate_field(name);
  field.dtype = DType::kInt64;
  field.fetched = true;
  schema.push_back(std::move(field));
}

void decode_sound_field(const std::string& name, const DecodeSoundOptions& options, Schema& schema,
                        Problems& problems) {
  const auto index = resolve_encoded_field(name, kSound, schema, problems);
  if (!index) return;
  Field& field = schema[*index];
  field.kind = FieldKind::kTensor;
  field.dtype = DType::kFloat32;
  field.shape = options.mono            ? Shape{Shape::kUnknown}
                : options.channels == 0 ? Shape{Shape::kUnknown, Shape::kUnknown}
                                        : Shape{options.channels, Shape::kUnknown};
  field.sound = SoundForm::kSamples;
  field.rate = options.rate;
  if (options.rate == 0) add_rate_field(std::string(field.name), schema, problems);
}

void infer_decode_audio(const Args& args, Schema& schema, Problems& problems) {
  const DecodeSoundOptions options = decode_sound_options(args);
  if (args.has("rate")) check_rate(options.rate, problems);
  if (args.has("channels") && (options.channels < 1 || options.channels > kMaxAudioChannels))
    problems.add(fmt::format("channels is {}", options.channels), fmt::format("give 1 to {}", kMaxAudioChannels));
  if (options.max_samples < 1)
    problems.add("max_samples is not positive", "give the most samples a recording may have");
  if (problems.any()) return;
  const std::vector<std::string> names = encoded_fields(args, kSound, schema);
  if (names.empty()) report_no_encoded_field(kSound, schema, problems);
  for (const std::string& name : names) decode_sound_field(name, options, schema, problems);
}

FieldUse decode_audio_uses(const OpSpec& spec, const Schema& before) {
  FieldUse use = decoder_uses(spec, kSound, before);
  if (const auto rate = spec.args.find("rate"); rate != spec.args.end() && !rate->is_null()) return use;
  // Uses the length before the loop, because the loop extends the list.
  for (size_t i = 0, made = use.makes.size(); i < made; ++i) use.makes.push_back(rate_field(use.makes[i]));
  return use;
}

Result<std::unique_ptr<RecordOp>> compile_decode_audio(const Args& args, const Schema& before, uint32_t) {
  // Loaded here and not per sample, where a failure could pass for a bad sample.
  FOREBAY_RETURN_IF_ERROR(load_sound_library().status());
  std::vector<size_t> fields;
  for (const std::string& name : encoded_fields(args, kSound, before)) fields.push_back(*before.find(name));
  return std::unique_ptr<RecordOp>(std::make_unique<DecodeAudio>(std::move(fields), decode_sound_options(args)));
}

}  // namespace

OpDef decode_audio_op() {
  OpDef def = make_op(
      {.name = "decode_audio",
       .group = OpGroup::kSound,
       .help =
           R"(Decodes WAV, FLAC, MP3, Ogg (Vorbis, Opus), AIFF, AU or CAF into the field `audio`: float32 in [-1, 1).

The values are those of libsndfile and torchaudio. Recordings differ in length: put `.pad_or_crop(seconds)` behind it, or take ragged
batches, `(values, offsets)`.

Errors of a sample: Corrupt for damaged data and for files that end early, Unsupported for other formats and for files whose format
changes on the way.)",
       .args = {{"rate", ArgType::kInt, false, nullptr,
                 "samples a second of all that comes out; what is stored at another rate is resampled (soxr, \"HQ\", "
                 "as librosa does). Without it each recording keeps its own rate, which is the new field `audio_rate` "
                 "(int64), `<field>_rate` of other fields."},
                {"mono", ArgType::kBool, false, true,
                 "(samples,), the mean of all channels. False: (channels, samples)."},
                {"channels", ArgType::kInt, false, nullptr,
                 "how many channels all recordings have; others are Unsupported. Batches with `mono=False` need it.",
                 ArgForm::kNamed},
                {"field", ArgType::kFields, false, nullptr,
                 "the encoded field, or a list of them; by default `audio`, else `bytes`, which becomes `audio`",
                 ArgForm::kNamed},
                {"max_samples", ArgType::kInt, false, 100'000'000,
                 "longer recordings (all channels counted) are Unsupported", ArgForm::kNamed}},
       .random = false,
       .infer = infer_decode_audio,
       .compile = compile_decode_audio,
       .uses = decode_audio_uses});
  def.versions = sound_versions;
  return def;
}

}  // namespace forebay
