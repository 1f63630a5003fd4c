#pragma once

#include <cstdint>
#include <vector>

namespace forebay {

/// Logarithms of mel bands to coefficients of their cosine transform (type 2, orthonormal), as torchaudio and librosa make MFCCs. Any number of
/// threads at once.
class Cepstrum {
 public:
  /// `range_db` > 0: bands further than that below the loudest of the recording are lifted to there.
  Cepstrum(int64_t coefficients, int64_t bands, double range_db);
  int64_t coefficients() const { return coefficients_; }
  /// (bands, frames), which it may change, to (coefficients, frames).
  void compute(float* bands, int64_t frames, float* out) const;

 private:
  int64_t coefficients_, bands_;
  double range_db_;
  std::vector<float> weights_;  // (coefficients, bands)
};

}  // namespace forebay
