#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/audio/mel_sound.h"
#include "ops/audio/sound_fields.h"
#include "ops/definition/args.h"

// What mel_spectrogram and mfcc share.

namespace forebay {

/// rate, n_fft, ..., pad_mode, named as torchaudio names them, and field.
std::vector<ArgDef> mel_args();
/// What those say, for sound of that rate.
MelPlan::Spec mel_spec(const Args& args, int64_t rate);
/// All that is wrong with the arguments; the fields become spectra of `rows` rows.
void infer_spectra(const Args& args, std::string_view op, int64_t rows, Schema& schema, Problems& problems);
/// The operator that makes them.
std::unique_ptr<RecordOp> spectra_op(std::vector<SoundField> fields, std::shared_ptr<const SpectraPlan> plan);

}  // namespace forebay
