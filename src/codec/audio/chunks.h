#pragma once

#include "codec/audio/readers.h"

namespace forebay {

/// What the chunks of a WAV or AIFF file say: Corrupt where the samples that they announce are not all there, Unsupported for a coding of samples
/// that is not read. Sizes that writers of streams leave there (0, all ones) announce nothing.
Status check_sound_chunks(AudioBytes bytes);

}  // namespace forebay
