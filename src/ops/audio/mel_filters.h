#pragma once

#include <cstdint>
#include <vector>

#include "ops/audio/real_fft.h"

namespace forebay {

/// Formula of the mel scale; see mel_of_hz().
enum class MelScale : uint8_t { kHtk, kSlaney };

/// The filters of a mel spectrogram.
struct MelSpec {
  int64_t rate = 16000, n_fft = 400, n_mels = 128;
  double f_min = 0, f_max = 8000;
  MelScale scale = MelScale::kHtk;
  bool normalized = false;  ///< divide each band by its width in Hz (norm="slaney")
};

/// Converts a frequency in Hz to mel, and back. kHtk: 2595 log10(1 + f / 700). kSlaney: 3 / 200 f
/// up to 1000 Hz, then 27 logarithmic steps up to 6.4 times that.
double mel_of_hz(double hz, MelScale scale);
double hz_of_mel(double mel, MelScale scale);

/// Triangular filters over the bins of a spectrum, evenly spaced on the mel scale. They are
/// computed in double with the same result on every machine. Bin k lies at k × rate / n_fft. Any
/// number of threads may use one object.
class MelFilters {
 public:
  explicit MelFilters(const MelSpec& spec);
  int64_t bands() const { return static_cast<int64_t>(bands_.size()); }
  /// The weighted sum of a band.
  Lanes apply(int64_t band, const Lanes* spectrum) const {
    const Band& b = bands_[static_cast<size_t>(band)];
    Lanes sum = {};
    for (int64_t i = 0; i < b.bins; ++i)
      sum += weights_[static_cast<size_t>(b.first_weight + i)] * spectrum[b.first_bin + i];
    return sum;
  }
  /// The weight of a bin in a band.
  float weight(int64_t band, int64_t bin) const;

 private:
  struct Band {
    int64_t first_bin = 0, bins = 0, first_weight = 0;
  };
  void add_band(const MelSpec& spec, double low, double middle, double high);

  std::vector<Band> bands_;
  std::vector<float> weights_;
};

}  // namespace forebay
