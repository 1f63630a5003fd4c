#include <fmt/format.h>

#include "ops/audio/mel_args.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

MelLog mel_log(const Args& args) {
  if (!args.has("log")) return MelLog::kNone;
  return args.text("log") == "db" ? MelLog::kDecibel : MelLog::kNatural;
}

void infer_mel_spectrogram(const Args& args, Schema& schema, Problems& problems) {
  if (args.has("log") && args.text("log") != "db" && args.text("log") != "ln")
    problems.add(fmt::format("unknown log \"{}\"", args.text("log")), "give \"db\" or \"ln\"");
  infer_spectra(args, "mel_spectrogram", args.integer("n_mels"), schema, problems);
}

Result<std::unique_ptr<RecordOp>> compile_mel_spectrogram(const Args& args, const Schema& before, uint32_t) {
  MelPlan::Spec spec = mel_spec(args, known_rate(args, before));
  spec.log = mel_log(args);
  return spectra_op(sound_fields(args, before), std::make_shared<const SpectraPlan>(spec));
}

std::vector<ArgDef> mel_spectrogram_args() {
  std::vector<ArgDef> args = mel_args();
  args.push_back({"log", ArgType::kText, false, nullptr,
                  "\"db\" for `10 * log10(max(x, 1e-10))`, \"ln\" for `ln(x + 1e-6)`", ArgForm::kNamed});
  args.push_back(sound_field_arg());
  return args;
}

}  // namespace

OpDef mel_spectrogram_op() {
  return make_op(
      {.name = "mel_spectrogram",
       .group = OpGroup::kSound,
       .help = R"(Samples to a mel spectrogram: float32 (n_mels, frames), of each channel where there are several.

As torchaudio's MelSpectrogram with its Hann window; with `norm="slaney", mel_scale="slaney"` as librosa's. Computed in float32, with the
same bytes on every processor.

A sound that is too short for a frame is Unsupported.)",
       .args = mel_spectrogram_args(),
       .random = false,
       .infer = infer_mel_spectrogram,
       .compile = compile_mel_spectrogram,
       .each = true});
}

}  // namespace forebay
