#pragma once

#include <cstdint>

namespace forebay {

/// Which pieces of a sound are looked at, as torch.stft does: every `hop` samples one of `n_fft`; with `center` the i-th has sample i × hop in
/// its middle, and what lies outside is mirrored (not the outermost sample itself), or else 0.
struct FrameGrid {
  int64_t n_fft = 400, hop = 200;
  bool center = true;
  bool mirrors = true;

  int64_t padding() const { return center ? n_fft / 2 : 0; }
  /// Whether a sound of so many samples has any frame.
  bool fits(int64_t samples) const {
    if (!center) return samples >= n_fft;
    return mirrors ? samples > padding() : samples + 2 * padding() >= n_fft;
  }
  /// Of so many samples, where fits(samples).
  int64_t frames(int64_t samples) const { return 1 + (samples + 2 * padding() - n_fft) / hop; }
  /// Samples with what lies around them, and what the lanes of the last frames reach over: all that frames are read from.
  int64_t padded(int64_t samples) const { return samples + 2 * padding() + 4 * hop; }
  /// Writes padded(samples) numbers.
  void pad(const float* samples, int64_t count, float* out) const;
};

}  // namespace forebay
