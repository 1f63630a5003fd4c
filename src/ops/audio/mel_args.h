#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/audio/mel_sound.h"
#include "ops/audio/sound_fields.h"
#include "ops/definition/args.h"

// Functions shared by mel_spectrogram and mfcc.

namespace forebay {

/// The arguments rate, n_fft, ..., pad_mode, with torchaudio's names, and field.
std::vector<ArgDef> mel_args();
/// The spectrogram that these arguments describe, for sound of that rate.
MelPlan::Spec mel_spec(const Args& args, int64_t rate);
/// Adds all problems of the arguments. The fields become spectra of `rows` rows.
void infer_spectra(const Args& args, std::string_view op, int64_t rows, Schema& schema, Problems& problems);
/// The operator that computes the spectra.
std::unique_ptr<RecordOp> spectra_op(std::vector<SoundField> fields, std::shared_ptr<const SpectraPlan> plan);

}  // namespace forebay
