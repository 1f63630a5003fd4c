#pragma once

#include <cstdint>
#include <span>

#include "base/work_memory.h"
#include "forebay/result.h"
#include "forebay/tensor.h"

namespace forebay {

/// The options of decode_sound().
struct DecodeSoundOptions {
  int64_t rate = 0;      ///< 0: the recording's own
  bool mono = true;      ///< true: the mean of all channels, (samples,); false: (channels, samples)
  int64_t channels = 0;  ///< a recording with another number of channels is Unsupported; 0: any
  /// Limit over all channels, before and after conversion; longer ones are Unsupported.
  int64_t max_samples = 0;
};

struct Sound {
  Tensor samples;  ///< float32
  int64_t rate = 0;
};

/// Decodes a recording. The header is checked, and memory is reserved before it is allocated.
Result<Sound> decode_sound(std::span<const uint8_t> bytes, const DecodeSoundOptions& options, WorkMemory& memory);

}  // namespace forebay
