#pragma once

#include <cstdint>
#include <memory>

#include "codec/audio/audio.h"

namespace forebay {

/// Maximum ratio of two rates.
constexpr int64_t kMaxRateRatio = 256;

/// Resamples frames to another rate: band-limited, linear phase, stop band below -120 dB, pass band
/// up to 0.91 of half the lower rate. It is a sink that passes its output to the next sink. The
/// output does not depend on how the input is divided into calls. One thread.
class RateConverter : public AudioSink {
 public:
  /// Number of output frames for `frames` input frames.
  static int64_t converted(int64_t frames, int64_t from, int64_t to) { return (frames * to + from - 1) / from; }
  /// Upper bound of the converter's memory.
  static uint64_t working_bytes(int64_t channels) {
    return (uint64_t{1} << 20) + (uint64_t{1} << 18) * static_cast<uint64_t>(channels);
  }

  /// Unsupported if the ratio of the rates exceeds kMaxRateRatio. `next` must outlive the
  /// converter.
  static Result<std::unique_ptr<RateConverter>> create(int64_t from, int64_t to, int64_t channels, AudioSink& next);

  /// Delivers the remaining frames, so that converted(all) frames have been delivered.
  virtual Status finish() = 0;
};

}  // namespace forebay
