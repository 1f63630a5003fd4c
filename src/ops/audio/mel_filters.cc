#include "ops/audio/mel_filters.h"

#include <algorithm>
#include <cmath>

#include "ops/definition/portable_math.h"

namespace forebay {
namespace {

constexpr double kLn10 = 2.302585092994045684018;
constexpr double kHtkStep = 2595.0, kHtkHz = 700.0;
constexpr double kSlaneyHz = 200.0 / 3, kSlaneyBreakHz = 1000.0, kSlaneyBreakMel = kSlaneyBreakHz / kSlaneyHz;

// 27 logarithmic steps up to 6400 Hz: the constants of Slaney's Auditory Toolbox.
double slaney_step() { return portable_log(6.4) / 27.0; }

}  // namespace

double mel_of_hz(double hz, MelScale scale) {
  if (scale == MelScale::kHtk) return kHtkStep * portable_log(1.0 + hz / kHtkHz) / kLn10;
  if (hz < kSlaneyBreakHz) return hz / kSlaneyHz;
  return kSlaneyBreakMel + portable_log(hz / kSlaneyBreakHz) / slaney_step();
}

double hz_of_mel(double mel, MelScale scale) {
  if (scale == MelScale::kHtk) return kHtkHz * (portable_exp(mel / kHtkStep * kLn10) - 1.0);
  if (mel < kSlaneyBreakMel) return mel * kSlaneyHz;
  return kSlaneyBreakHz * portable_exp(slaney_step() * (mel - kSlaneyBreakMel));
}

MelFilters::MelFilters(const MelSpec& spec) {
  const double low = mel_of_hz(spec.f_min, spec.scale), high = mel_of_hz(spec.f_max, spec.scale);
  const auto edge = [&](int64_t i) {
    return hz_of_mel(low + (high - low) * static_cast<double>(i) / static_cast<double>(spec.n_mels + 1), spec.scale);
  };
  for (int64_t m = 0; m < spec.n_mels; ++m) add_band(spec, edge(m), edge(m + 1), edge(m + 2));
}

void MelFilters::add_band(const MelSpec& spec, double low, double middle, double high) {
  Band band{0, 0, static_cast<int64_t>(weights_.size())};
  for (int64_t k = 0; k <= spec.n_fft / 2; ++k) {
    const double hz = static_cast<double>(k) * static_cast<double>(spec.rate) / static_cast<double>(spec.n_fft);
    double weight = std::min((hz - low) / (middle - low), (high - hz) / (high - middle));
    // Slaney's normalization gives each band the same area, so wide bands do not weigh more.
    if (spec.normalized) weight *= 2.0 / (high - low);
    // Also skips NaN, which occurs if two edges coincide.
    if (!(weight > 0)) continue;
    if (band.bins == 0) band.first_bin = k;
    ++band.bins;
    weights_.push_back(static_cast<float>(weight));
  }
  bands_.push_back(band);
}

float MelFilters::weight(int64_t band, int64_t bin) const {
  const Band& b = bands_[static_cast<size_t>(band)];
  const int64_t at = bin - b.first_bin;
  // Only the bins between the edges of a band are stored, because a band covers few bins.
  return at >= 0 && at < b.bins ? weights_[static_cast<size_t>(b.first_weight + at)] : 0.0f;
}

}  // namespace forebay
