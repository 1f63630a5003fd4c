#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/audio/frame_grid.h"
#include "ops/audio/mel_filters.h"
#include "ops/audio/real_fft.h"

namespace forebay {

/// The last conversion of a mel value.
enum class MelLog : uint8_t {
  kNone,
  kDecibel,  ///< 10 log10(max(x, 1e-10))
  kNatural,  ///< ln(x + 1e-6)
};
/// Converts values in place, computing in double with portable logarithms.
void take_log(MelLog log, std::span<float> values);

/// The parts of a mel spectrogram that do not depend on the sound: window, transform and filters.
/// Any number of threads may use one plan. It allocates no memory for frames except what the
/// transform allocates for kLanes of them.
class MelPlan {
 public:
  struct Spec {
    FrameGrid grid;
    MelSpec mel;
    int64_t win_length = 400;  ///< length of the Hann window in the middle of a frame
    bool magnitude = false;    ///< use the magnitude of the spectrum instead of its square
    MelLog log = MelLog::kNone;
  };
  explicit MelPlan(const Spec& spec);

  const FrameGrid& grid() const { return spec_.grid; }
  int64_t bands() const { return filters_.bands(); }
  /// Number of floats of scratch memory that compute() needs for that many samples.
  int64_t scratch_floats(int64_t samples) const;
  /// Writes (bands, frames) numbers to `out`. `scratch` must be 64-byte aligned.
  void compute(const float* samples, int64_t count, float* out, float* scratch) const;

 private:
  void load(const float* first, Lanes* out) const;
  void to_power(const Lanes* transformed, Lanes* out) const;

  Spec spec_;
  std::vector<float> window_;
  RealFft fft_;
  MelFilters filters_;
};

}  // namespace forebay
