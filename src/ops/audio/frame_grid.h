#pragma once

#include <cstdint>

namespace forebay {

/// The frames of a sound, cut as in torch.stft: `n_fft` samples every `hop` samples. With `center`
/// sample i × hop is in the middle of frame i. Samples beyond the ends are mirrored (without
/// repeating the outermost one) or 0.
struct FrameGrid {
  int64_t n_fft = 400, hop = 200;
  bool center = true;
  bool reflect = true;

  int64_t padding() const { return center ? n_fft / 2 : 0; }
  /// True if a sound of that length has at least one frame.
  bool fits(int64_t samples) const {
    if (!center) return samples >= n_fft;
    return reflect ? samples > padding() : samples + 2 * padding() >= n_fft;
  }
  /// Number of frames. Requires fits(samples).
  int64_t frames(int64_t samples) const { return 1 + (samples + 2 * padding() - n_fft) / hop; }
  /// Number of samples that pad() writes: the sound, its padding, and the samples that unused lanes
  /// of the last frames read.
  int64_t padded(int64_t samples) const { return samples + 2 * padding() + 4 * hop; }
  /// Writes padded(samples) numbers.
  void pad(const float* samples, int64_t count, float* out) const;
};

}  // namespace forebay
