#pragma once

#include <cstdint>
#include <memory>

#include "codec/audio/audio.h"

namespace forebay {

/// Most that a rate may change by.
constexpr int64_t kMaxRateRatio = 256;

/// Frames at another rate: band-limited, linear phase, stop band below -120 dB, pass band up to 0.91 of the lower rate's half.
/// Takes frames as a sink and gives what comes of them to the next one. One thread. The same values for any cut of the input into calls.
class RateConverter : public AudioSink {
 public:
  /// Of `frames` frames come so many.
  static int64_t converted(int64_t frames, int64_t from, int64_t to) { return (frames * to + from - 1) / from; }
  /// Upper bound of what it holds.
  static uint64_t working_bytes(int64_t channels) {
    return (uint64_t{1} << 20) + (uint64_t{1} << 18) * static_cast<uint64_t>(channels);
  }

  /// Unsupported where the rates are further apart than kMaxRateRatio. `next` must outlive it.
  static Result<std::unique_ptr<RateConverter>> create(int64_t from, int64_t to, int64_t channels, AudioSink& next);

  /// Gives what is left: converted(all) frames have been given then.
  virtual Status finish() = 0;
};

}  // namespace forebay
