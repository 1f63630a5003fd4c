#pragma once

#include <array>

#include "sound/readers.h"

namespace forebay {

/// The part of a sound file that a reader may see.
struct SoundView {
  size_t end = 0;  ///< end of the bytes that are read
  // Bytes that replace a length that the writer did not know. Nothing is replaced if `patch_bytes`
  // is 0.
  size_t patch_at = 0, patch_bytes = 0;
  std::array<uint8_t, 8> patch = {};
};

/// Checks the header of a WAV, RF64, W64, AIFF, AU or CAF file against the file. Corrupt if
/// announced samples are missing. Unsupported for sample encodings that are not read, and if a
/// second recording follows. The lengths 0 and all ones, which writers to a pipe leave, mean "to
/// the end of the file".
Result<SoundView> check_sound_chunks(AudioBytes bytes, std::string_view format);

}  // namespace forebay
