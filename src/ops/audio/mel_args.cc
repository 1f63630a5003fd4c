#include "ops/audio/mel_args.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <fmt/format.h>

#include "base/columns.h"

namespace forebay {
namespace {

constexpr int64_t kLargestFft = 1 << 18;
constexpr int64_t kMaxMels = 4096;

class Spectra final : public RecordOp {
 public:
  Spectra(std::vector<SoundField> fields, std::shared_ptr<const SpectraPlan> plan)
      : fields_(std::move(fields)), plan_(std::move(plan)) {}

  Status apply(Record& record, const SampleContext& context) const override {
    const int step = context.memory->meter().current();
    for (const SoundField& field : fields_) {
      Value& value = record[field.index];
      FOREBAY_RETURN_IF_ERROR(check_sound_value(value, field.name));
      FOREBAY_RETURN_IF_ERROR(value.materialize(*context.memory));
      FOREBAY_ASSIGN(auto made, SpectraOfSound::of(std::move(value.tensor), plan_, step));
      value = Value::of(std::move(made));
    }
    return {};
  }

 private:
  std::vector<SoundField> fields_;
  std::shared_ptr<const SpectraPlan> plan_;
};

void check_int_range(const Args& args, std::string_view name, int64_t least, int64_t most, Problems& problems) {
  if (!args.has(name)) return;
  const int64_t value = args.integer(name);
  if (value < least || value > most)
    problems.add(fmt::format("{} is {}", name, value), fmt::format("give {} to {}", least, most));
}

void check_word(const Args& args, std::string_view name, std::initializer_list<std::string_view> known,
                Problems& problems) {
  if (!args.has(name)) return;
  const std::string word = args.text(name);
  if (std::find(known.begin(), known.end(), word) == known.end())
    problems.add(fmt::format("unknown {} \"{}\"", name, word),
                 fmt::format("give \"{}\"", fmt::join(known, "\" or \"")));
}

double highest_hz(const Args& args, int64_t rate) {
  return args.has("f_max") ? args.number("f_max") : static_cast<double>(rate) / 2;
}

void check_band(const Args& args, int64_t rate, Problems& problems) {
  const double low = args.number("f_min"), high = highest_hz(args, rate), most = static_cast<double>(rate) / 2;
  if (!(low >= 0 && low < high && high <= most)) {
    problems.add(fmt::format("f_min and f_max are {} and {} Hz, of sound with {} samples a second", low, high, rate),
                 fmt::format("give 0 <= f_min < f_max <= {}", most));
  }
}

void check_mel_args(const Args& args, Problems& problems) {
  check_int_range(args, "n_fft", 2, kLargestFft, problems);
  check_int_range(args, "n_mels", 1, kMaxMels, problems);
  check_int_range(args, "win_length", 1, args.integer("n_fft"), problems);
  check_int_range(args, "hop_length", 1, kLargestFft, problems);
  check_word(args, "norm", {"slaney"}, problems);
  check_word(args, "mel_scale", {"htk", "slaney"}, problems);
  check_word(args, "pad_mode", {"reflect", "constant"}, problems);
  if (const double power = args.number("power"); power != 1.0 && power != 2.0)
    problems.add(fmt::format("power is {}", power), "give 2 for power or 1 for magnitude");
}

Shape spectra_shape(const Shape& samples, int64_t rows, const FrameGrid& grid) {
  const int64_t count = samples[samples.rank() - 1];
  const int64_t frames = count == Shape::kUnknown || !grid.fits(count) ? Shape::kUnknown : grid.frames(count);
  return samples.rank() == 1 ? Shape{rows, frames} : Shape{samples[0], rows, frames};
}

void set_spectra(const Args& args, int64_t rate, int64_t rows, Field& field, Problems& problems) {
  if (field.kind != FieldKind::kTensor) return;
  const FrameGrid grid = mel_spec(args, rate).grid;
  const int64_t count = field.shape[field.shape.rank() - 1];
  if (count != Shape::kUnknown && !grid.fits(count)) {
    problems.add(fmt::format("{} samples are too short for frames of n_fft={}", count, grid.n_fft),
                 "give .pad_or_crop more seconds, or a smaller n_fft");
  }
  // Recordings of a list: their spectra stay rows, of which each sample has any number.
  const bool list = field.shape.rank() == 2 && is_ragged(field);
  field.shape = spectra_shape(field.shape, rows, grid);
  if (!list) field.sound = SoundForm::kSpectra;
}

}  // namespace

std::vector<ArgDef> mel_args() {
  const auto named = [](const char* name, ArgType type, Json value, const char* help) {
    return ArgDef{name, type, false, std::move(value), help, ArgForm::kNamed};
  };
  return {
      sound_rate_arg(),
      named("n_fft", ArgType::kInt, 400, "samples of a frame"),
      named("win_length", ArgType::kInt, nullptr,
            "length of the Hann window, in the middle of the frame; `n_fft` if not given"),
      named("hop_length", ArgType::kInt, nullptr, "samples from frame to frame; `win_length // 2` if not given"),
      named("f_min", ArgType::kFloat, 0.0, "lowest frequency, in Hz"),
      named("f_max", ArgType::kFloat, nullptr, "highest frequency, in Hz; half of the rate if not given"),
      named("n_mels", ArgType::kInt, 128, "bands"),
      named("power", ArgType::kFloat, 2.0, "2 for power, 1 for magnitude"),
      named("norm", ArgType::kText, nullptr, "\"slaney\" divides each band by its width in Hz"),
      named("mel_scale", ArgType::kText, "htk", "\"htk\" or \"slaney\""),
      named("center", ArgType::kBool, true, "frame i has sample `i * hop_length` in its middle; else it begins there"),
      named("pad_mode", ArgType::kText, "reflect",
            "samples outside of the sound, used if `center`: \"reflect\", or \"constant\" for zeros")};
}

MelPlan::Spec mel_spec(const Args& args, int64_t rate) {
  MelPlan::Spec spec;
  const int64_t n_fft = args.integer("n_fft");
  spec.win_length = args.has("win_length") ? args.integer("win_length") : n_fft;
  const int64_t half = spec.win_length / 2 > 0 ? spec.win_length / 2 : 1;
  spec.grid = {n_fft, args.has("hop_length") ? args.integer("hop_length") : half, args.json("center").get<bool>(),
               args.text("pad_mode") == "reflect"};
  spec.mel = {rate,
              n_fft,
              args.integer("n_mels"),
              args.number("f_min"),
              highest_hz(args, rate),
              args.text("mel_scale") == "slaney" ? MelScale::kSlaney : MelScale::kHtk,
              args.has("norm")};
  spec.magnitude = args.number("power") == 1.0;
  return spec;
}

void infer_spectra(const Args& args, std::string_view op, int64_t rows, Schema& schema, Problems& problems) {
  check_mel_args(args, problems);
  const std::vector<size_t> fields = check_sounds(args, op, schema, problems);
  const int64_t rate = check_known_rate(args, fields, schema, problems);
  if (rate == 0) return;
  check_band(args, rate, problems);
  if (problems.any()) return;
  for (const size_t index : fields) set_spectra(args, rate, rows, schema[index], problems);
}

std::unique_ptr<RecordOp> spectra_op(std::vector<SoundField> fields, std::shared_ptr<const SpectraPlan> plan) {
  return std::make_unique<Spectra>(std::move(fields), std::move(plan));
}

}  // namespace forebay
