#pragma once

#include <cstdint>
#include <span>

#include "base/work_memory.h"
#include "forebay/result.h"
#include "forebay/tensor.h"

namespace forebay {

/// What is wanted of a recording.
struct SoundWanted {
  int64_t rate = 0;         ///< 0: its own
  bool mono = true;         ///< the mean of its channels, (samples,); else (channels, samples)
  int64_t channels = 0;     ///< a recording with another number is Unsupported; 0: any
  int64_t max_samples = 0;  ///< of all channels, as stored and as wanted: longer ones are Unsupported
};

struct Sound {
  Tensor samples;  ///< float32
  int64_t rate = 0;
};

/// Decodes a recording. What its header says is checked, and memory reserved, before it is taken.
Result<Sound> decode_sound(std::span<const uint8_t> bytes, const SoundWanted& wanted, WorkMemory& memory);

}  // namespace forebay
