#pragma once

#include <cstdint>
#include <vector>

namespace forebay {

/// Converts logarithms of mel bands to the coefficients of their cosine transform (type 2,
/// orthonormal), as torchaudio and librosa make MFCCs. Any number of threads may use one object.
class Cepstrum {
 public:
  /// If `range_db` > 0, bands more than `range_db` below the loudest of the recording are raised to
  /// that limit.
  Cepstrum(int64_t coefficients, int64_t bands, double range_db);
  int64_t coefficients() const { return coefficients_; }
  /// Converts (bands, frames), which it may overwrite, to (coefficients, frames).
  void compute(float* bands, int64_t frames, float* out) const;

 private:
  int64_t coefficients_, bands_;
  double range_db_;
  std::vector<float> weights_;  // (coefficients, bands)
};

}  // namespace forebay
