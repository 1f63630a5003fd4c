#pragma once

#include <array>

#include "sound/readers.h"

namespace forebay {

/// What a reader is to see of a file of sound.
struct SoundView {
  size_t end = 0;  ///< of the bytes that are looked at
  // Instead of the bytes that stand there: a length that the writer did not know. Where `patch_bytes` is 0 nothing is replaced.
  size_t patch_at = 0, patch_bytes = 0;
  std::array<uint8_t, 8> patch = {};
};

/// What the header of a WAV, RF64, W64, AIFF, AU or CAF file says of its samples. Corrupt where those that it announces are not all there,
/// Unsupported for a coding of samples that is not read, and where a second recording follows. Lengths that writers to a pipe leave
/// there (0, all ones) mean "to the end of the file".
Result<SoundView> check_sound_chunks(AudioBytes bytes, std::string_view format);

}  // namespace forebay
