#include "ops/audio/cepstrum.h"

#include <algorithm>
#include <cmath>

#include "ops/definition/portable_math.h"

namespace forebay {

Cepstrum::Cepstrum(int64_t coefficients, int64_t bands, double range_db)
    : coefficients_(coefficients), bands_(bands), range_db_(range_db) {
  const auto n = static_cast<double>(bands);
  for (int64_t k = 0; k < coefficients; ++k) {
    const double scale = std::sqrt((k == 0 ? 1.0 : 2.0) / n);
    for (int64_t m = 0; m < bands; ++m) {
      // The angle is in turns, and its integers are multiplied before the division, so no large
      // number is multiplied by pi.
      const double turns = static_cast<double>(k * (2 * m + 1)) / (4 * n);
      weights_.push_back(static_cast<float>(scale * portable_cos_turns(turns)));
    }
  }
}

void Cepstrum::compute(float* bands, int64_t frames, float* out) const {
  if (range_db_ > 0) {
    // The loudest band of the whole recording, not of each frame, as in torchaudio's top_db.
    const float least = *std::max_element(bands, bands + bands_ * frames) - static_cast<float>(range_db_);
    for (int64_t i = 0; i < bands_ * frames; ++i) bands[i] = std::max(bands[i], least);
  }
  std::fill_n(out, coefficients_ * frames, 0.0f);
  for (int64_t k = 0; k < coefficients_; ++k) {
    float* __restrict const to = out + k * frames;
    for (int64_t m = 0; m < bands_; ++m) {
      const float weight = weights_[static_cast<size_t>(k * bands_ + m)];
      const float* const from = bands + m * frames;
      // Loops over frames, which are contiguous: the loop vectorizes and each sum keeps its order.
      for (int64_t f = 0; f < frames; ++f) to[f] += weight * from[f];
    }
  }
}

}  // namespace forebay
