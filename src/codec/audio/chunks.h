#pragma once

#include <array>
#include <optional>

#include "codec/audio/readers.h"

namespace forebay {

/// Bytes that a reader is to see at a place of the file instead of those that stand there: a length that its writer did not know.
struct PatchedBytes {
  size_t place = 0, size = 0;
  std::array<uint8_t, 8> bytes = {};
};

/// What the header of a WAV, RF64, W64, AIFF, AU or CAF file says of its samples. Corrupt where those that it announces are not all there,
/// Unsupported for a coding of samples that is not read, and where a second recording follows. Lengths that writers to a pipe leave
/// there (0, all ones) mean "to the end of the file"; the result is what makes the header say so, if libsndfile needs it.
Result<std::optional<PatchedBytes>> check_sound_chunks(AudioBytes bytes, std::string_view format);

}  // namespace forebay
