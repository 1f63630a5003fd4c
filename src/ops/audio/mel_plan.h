#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/audio/frame_grid.h"
#include "ops/audio/mel_filters.h"
#include "ops/audio/real_fft.h"

namespace forebay {

/// What becomes of a mel value at last.
enum class MelLog : uint8_t {
  kNone,
  kDecibel,  ///< 10 log10(max(x, 1e-10))
  kNatural,  ///< ln(x + 1e-6)
};
/// In place, in double with portable logarithms.
void take_log(MelLog log, std::span<float> values);

/// Everything of a mel spectrogram that does not depend on the sound: window, transform, filters. Any number of threads at once; takes no memory
/// for a frame but what the transform itself takes for kLanes of them.
class MelPlan {
 public:
  struct Spec {
    FrameGrid grid;
    MelSpec mel;
    int64_t win_length = 400;  ///< of the Hann window, in the middle of a frame
    bool magnitude = false;    ///< of the spectrum, in place of its square
    MelLog log = MelLog::kNone;
  };
  explicit MelPlan(const Spec& spec);

  const FrameGrid& grid() const { return spec_.grid; }
  int64_t bands() const { return filters_.bands(); }
  /// Numbers of scratch memory that compute() needs for so many samples.
  int64_t scratch_floats(int64_t samples) const;
  /// (bands, frames) numbers to `out`; `scratch` is aligned to 64 bytes.
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
