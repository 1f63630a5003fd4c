#include <algorithm>

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

constexpr DecodedKind kSound = {"audio", "decode_audio", "recording", "recordings"};

std::string rate_field(std::string_view name) { return fmt::format("{}_rate", name); }

Tensor scalar(int64_t value) {
  Tensor made = Tensor::allocate(DType::kInt64, {});
  *made.data<int64_t>() = value;
  return made;
}

class DecodeAudio final : public RecordOp {
 public:
  DecodeAudio(std::vector<EncodedField> fields, DecodeSoundOptions options)
      : fields_(std::move(fields)), options_(options) {}

  Status apply(Record& record, const SampleContext& context) const override {
    for (const EncodedField& field : fields_) {
      FOREBAY_ASSIGN(const bool list, is_list_value(record[field.index], field.name, field.list, kSound));
      FOREBAY_RETURN_IF_ERROR(list ? decode_list(record, field.index, *context.memory)
                                   : decode(record, field.index, *context.memory));
    }
    return {};
  }

 private:
  Status decode(Record& record, size_t index, WorkMemory& memory) const {
    FOREBAY_ASSIGN(const Buffer bytes, encoded_bytes(record[index], kSound));
    FOREBAY_ASSIGN(Sound sound, decode_sound(bytes.span(), options_, memory));
    record[index] = Value::of(std::move(sound.samples));
    // A requested rate is known in advance. Otherwise each sample has its own rate, in a field at
    // the same place in the schema.
    if (options_.rate == 0) record.push_back(Value::of(scalar(sound.rate)));
    return {};
  }

  // The recordings one after the other, with the samples and the rate of each.
  Status decode_list(Record& record, size_t index, WorkMemory& memory) const {
    std::vector<Sound> sounds;
    FOREBAY_RETURN_IF_ERROR(for_each_encoded(record[index].bytes, kSound, [&](Buffer bytes) -> Status {
      FOREBAY_ASSIGN(sounds.emplace_back(), decode_sound(bytes.span(), options_, memory));
      if (sounds.back().samples.shape[0] > INT32_MAX)
        return unsupported("a recording in a list has 2^31 samples or more");
      return {};
    }));
    FOREBAY_ASSIGN(record[index], joined(sounds, memory));
    const auto count = static_cast<int64_t>(sounds.size());
    Tensor lengths = Tensor::allocate(DType::kInt32, Shape{count}),
           rates = Tensor::allocate(DType::kInt64, Shape{count});
    for (size_t i = 0; i < sounds.size(); ++i) {
      lengths.data<int32_t>()[i] = static_cast<int32_t>(sounds[i].samples.shape[0]);
      rates.data<int64_t>()[i] = sounds[i].rate;
    }
    record.push_back(Value::of(std::move(lengths)));
    if (options_.rate == 0) record.push_back(Value::of(std::move(rates)));
    return {};
  }

  static Result<Value> joined(const std::vector<Sound>& sounds, WorkMemory& memory) {
    int64_t samples = 0;
    for (const Sound& sound : sounds) samples += sound.samples.shape[0];
    FOREBAY_RETURN_IF_ERROR(memory.reserve(static_cast<uint64_t>(samples) * sizeof(float)));
    Tensor all = Tensor::allocate(DType::kFloat32, Shape{samples});
    float* to = all.data<float>();
    for (const Sound& sound : sounds) to = std::copy_n(sound.samples.data<float>(), sound.samples.shape[0], to);
    return Value::of(std::move(all));
  }

  std::vector<EncodedField> fields_;
  DecodeSoundOptions options_;
};

DecodeSoundOptions decode_sound_options(const Args& args) {
  return {args.has("rate") ? args.integer("rate") : 0, args.json("mono").get<bool>(),
          args.has("channels") ? args.integer("channels") : 0, args.integer("max_samples")};
}

void add_rate_field(const std::string& name, bool list, Schema& schema, Problems& problems) {
  if (schema.find(rate_field(name))) {
    return problems.add(fmt::format("there is a field '{}' already", rate_field(name)),
                        "rename it before, or give rate= to bring all recordings to one");
  }
  Field field;
  field.name = rate_field(name);
  field.dtype = DType::kInt64;
  if (list) field.shape = Shape{Shape::kUnknown};
  field.fetched = true;
  schema.push_back(std::move(field));
}

void add_lengths_field(const std::string& name, Schema& schema, Problems& problems) {
  if (schema.find(lengths_field(name)))
    return problems.add(fmt::format("there is a field '{}' already", lengths_field(name)), "rename it before");
  Field field;
  field.name = lengths_field(name);
  field.dtype = DType::kInt32;
  field.shape = Shape{Shape::kUnknown};
  field.fetched = true;
  schema.push_back(std::move(field));
}

void decode_sound_field(const std::string& name, const DecodeSoundOptions& options, bool lists, Schema& schema,
                        Problems& problems) {
  const auto index = resolve_encoded_field(name, kSound, schema, problems);
  if (!index) return;
  Field& field = schema[*index];
  const bool list = is_encoded_list(field, lists);
  check_lists(field, lists, kSound, problems);
  if (list && !options.mono)
    problems.add(fmt::format("the field '{}' is a list of recordings, each of which becomes one channel", field.name),
                 "leave mono=False out");
  field.kind = FieldKind::kTensor;
  field.dtype = DType::kFloat32;
  field.shape = options.mono            ? Shape{Shape::kUnknown}
                : options.channels == 0 ? Shape{Shape::kUnknown, Shape::kUnknown}
                                        : Shape{options.channels, Shape::kUnknown};
  field.sound = list ? SoundForm::kRecordings : SoundForm::kSamples;
  field.rate = options.rate;
  const std::string made = field.name;  // the schema grows
  if (list) add_lengths_field(made, schema, problems);
  if (options.rate == 0) add_rate_field(made, list, schema, problems);
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
  for (const std::string& name : names) decode_sound_field(name, options, given_lists(args), schema, problems);
}

bool is_true(const Json& args, const char* name) {
  const auto given = args.find(name);
  return given != args.end() && given->is_boolean() && given->get<bool>();
}

FieldUse decode_audio_uses(const OpSpec& spec, const Schema& before) {
  FieldUse use = decoder_uses(spec, kSound, before);
  const auto rate = spec.args.find("rate");
  const bool rates = rate == spec.args.end() || rate->is_null();
  // Uses the length before the loop, because the loop extends the list.
  for (size_t i = 0, made = use.makes.size(); i < made; ++i) {
    const auto encoded = before.find(use.reads[i]);
    if (encoded && is_encoded_list(before[*encoded], is_true(spec.args, "lists")))
      use.makes.push_back(lengths_field(use.makes[i]));
    if (rates) use.makes.push_back(rate_field(use.makes[i]));
  }
  return use;
}

Result<std::unique_ptr<RecordOp>> compile_decode_audio(const Args& args, const Schema& before, uint32_t) {
  // Loaded here and not per sample, where a failure could pass for a bad sample.
  FOREBAY_RETURN_IF_ERROR(load_sound_library().status());
  std::vector<EncodedField> fields;
  for (const std::string& name : encoded_fields(args, kSound, before)) {
    const size_t index = *before.find(name);
    fields.push_back({index, name, is_encoded_list(before[index], given_lists(args))});
  }
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

Of a list of recordings the field has the samples of all, one after the other, and the new field `<field>.lengths`, int32 (recordings,), how
many each has; `<field>_rate` has a rate for each. `.pad_or_crop(seconds)` makes them `(recordings, samples)`, which other operators
take as channels. `.random_gain` works before it, too.

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
                 "longer recordings (all channels counted) are Unsupported", ArgForm::kNamed},
                lists_arg(kSound)},
       .random = false,
       .infer = infer_decode_audio,
       .compile = compile_decode_audio,
       .uses = decode_audio_uses});
  def.versions = sound_versions;
  return def;
}

}  // namespace forebay
