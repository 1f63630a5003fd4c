#include <fmt/format.h>

#include "ops/audio/mel_args.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

constexpr double kMfccRangeDb = 80;

bool natural_log(const Args& args) { return args.json("log_mels").get<bool>(); }

void infer_mfcc(const Args& args, Schema& schema, Problems& problems) {
  const int64_t n = args.integer("n_mfcc"), bands = args.integer("n_mels");
  if (n < 1 || n > bands)
    problems.add(fmt::format("n_mfcc is {}, of {} bands", n, bands), "give at least 1, and not more than n_mels");
  infer_spectra(args, "mfcc", n, schema, problems);
}

Result<std::unique_ptr<RecordOp>> compile_mfcc(const Args& args, const Schema& before, uint32_t) {
  MelPlan::Spec spec = mel_spec(args, known_rate(args, before));
  spec.log = natural_log(args) ? MelLog::kNatural : MelLog::kDecibel;
  auto plan = std::make_shared<SpectraPlan>(spec);
  plan->cepstrum = std::make_unique<const Cepstrum>(args.integer("n_mfcc"), args.integer("n_mels"),
                                                    natural_log(args) ? 0.0 : kMfccRangeDb);
  return spectra_op(sound_fields(args, before), std::move(plan));
}

std::vector<ArgDef> mfcc_args() {
  std::vector<ArgDef> args = mel_args();
  args.insert(args.begin(), {"n_mfcc", ArgType::kInt, false, 40, "coefficients, `n_mels` at most"});
  args.push_back(
      {"log_mels", ArgType::kBool, false, false, "compute from `ln(x + 1e-6)` instead of decibels", ArgForm::kNamed});
  args.push_back(sound_field_arg());
  return args;
}

}  // namespace

OpDef mfcc_op() {
  return make_op({.name = "mfcc",
                  .group = OpGroup::kSound,
                  .help =
                      R"(Samples to mel-frequency cepstral coefficients: float32 (n_mfcc, frames), as torchaudio's MFCC.

The orthonormal cosine transform (type 2) of a mel spectrogram in decibels, in which no value is more than 80 below the recording's
largest.)",
                  .args = mfcc_args(),
                  .random = false,
                  .infer = infer_mfcc,
                  .compile = compile_mfcc,
                  .each = true});
}

}  // namespace forebay
