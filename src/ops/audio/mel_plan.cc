#include "ops/audio/mel_plan.h"

#include <algorithm>
#include <cmath>

#include "ops/definition/portable_math.h"

namespace forebay {
namespace {

constexpr double kTenOverLn10 = 4.342944819032518276511;

// A periodic window, as usual for spectra. A window shorter than a frame is centred in it, with
// zeros around it.
std::vector<float> hann_window(int64_t length, int64_t n_fft) {
  std::vector<float> window(static_cast<size_t>(n_fft));
  const int64_t begin = (n_fft - length) / 2;
  for (int64_t i = 0; i < length; ++i) {
    const double cosine = portable_cos_turns(static_cast<double>(i) / static_cast<double>(length));
    window[static_cast<size_t>(begin + i)] = static_cast<float>(0.5 - 0.5 * cosine);
  }
  return window;
}

// Rounds to 64 bytes: lanes must be aligned, and the next part begins on its own cache line.
int64_t round_up(int64_t floats) { return (floats + 15) / 16 * 16; }

Lanes square_root(Lanes x) { return Lanes{std::sqrt(x[0]), std::sqrt(x[1]), std::sqrt(x[2]), std::sqrt(x[3])}; }

}  // namespace

void take_log(MelLog log, std::span<float> values) {
  if (log == MelLog::kNone) return;
  for (float& value : values) {
    const double x = value;
    // Bounded before the logarithm, because silence is 0, which has no logarithm.
    value = static_cast<float>(log == MelLog::kDecibel ? kTenOverLn10 * portable_log(x > 1e-10 ? x : 1e-10)
                                                       : portable_log(x + 1e-6));
  }
}

MelPlan::MelPlan(const Spec& spec)
    : spec_(spec), window_(hann_window(spec.win_length, spec.grid.n_fft)), fft_(spec.grid.n_fft), filters_(spec.mel) {}

int64_t MelPlan::scratch_floats(int64_t samples) const {
  return round_up(spec_.grid.padded(samples)) + kLanes * (spec_.grid.n_fft + spec_.grid.n_fft / 2 + 1);
}

void MelPlan::load(const float* first, Lanes* out) const {
  const int64_t hop = spec_.grid.hop;
  for (int64_t i = 0; i < spec_.grid.n_fft; ++i) {
    const float* const at = first + i;
    // Four frames at once, one per lane. Past the last frame the scratch memory has enough padding,
    // and the results are not used.
    out[i] = Lanes{at[0], at[hop], at[2 * hop], at[3 * hop]} * window_[static_cast<size_t>(i)];
  }
}

void MelPlan::to_power(const Lanes* transformed, Lanes* out) const {
  const int64_t n = spec_.grid.n_fft, bins = n / 2 + 1;
  out[0] = transformed[0] * transformed[0];
  for (int64_t k = 1; k < bins; ++k) {
    const Lanes re = transformed[2 * k - 1];
    out[k] = re * re;
    // The middle bin of an even size is real and has no imaginary part.
    if (2 * k < n) out[k] += transformed[2 * k] * transformed[2 * k];
  }
  if (!spec_.magnitude) return;
  for (int64_t k = 0; k < bins; ++k) out[k] = square_root(out[k]);
}

void MelPlan::compute(const float* samples, int64_t count, float* out, float* scratch) const {
  const FrameGrid& grid = spec_.grid;
  const int64_t frames = grid.frames(count), bands = filters_.bands();
  grid.pad(samples, count, scratch);
  Lanes* const work = reinterpret_cast<Lanes*>(scratch + round_up(grid.padded(count)));
  Lanes* const power = work + grid.n_fft;
  for (int64_t f = 0; f < frames; f += kLanes) {
    load(scratch + f * grid.hop, work);
    fft_.forward(work);
    to_power(work, power);
    // Lanes past the last frame are computed but not stored.
    const int64_t valid = std::min(kLanes, frames - f);
    for (int64_t m = 0; m < bands; ++m) {
      const Lanes sum = filters_.apply(m, power);
      for (int64_t i = 0; i < valid; ++i) out[m * frames + f + i] = sum[i];
    }
  }
  take_log(spec_.log, {out, static_cast<size_t>(bands * frames)});
}

}  // namespace forebay
