#include "ops/audio/frame_grid.h"

#include <algorithm>
#include <cstring>

namespace forebay {

void FrameGrid::pad(const float* samples, int64_t count, float* out) const {
  const int64_t around = padding();
  std::fill_n(out, around, 0.0f);
  if (count > 0) std::memcpy(out + around, samples, static_cast<size_t>(count) * sizeof(float));
  std::fill(out + around + count, out + padded(count), 0.0f);
  // Without mirroring the padding stays 0.
  if (!reflect) return;
  for (int64_t i = 1; i <= around; ++i) {
    out[around - i] = samples[i];
    out[around + count - 1 + i] = samples[count - 1 - i];
  }
}

}  // namespace forebay
