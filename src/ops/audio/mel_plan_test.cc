// Compares mel spectrograms with the plain formulas in double: sums of cosines instead of a fast
// transform.
#include "ops/audio/mel_plan.h"

#include <algorithm>
#include <complex>
#include <numbers>

#include <gtest/gtest.h>

#include "forebay/buffer.h"
#include "ops/audio/sound_test_samples.h"

namespace forebay {
namespace {

using namespace ops_test;
constexpr double kTau = 2 * std::numbers::pi;

/// Sample i; beyond the ends as the grid defines it.
double sample_at(const std::vector<float>& samples, const FrameGrid& grid, int64_t i) {
  const auto count = static_cast<int64_t>(samples.size());
  if (i >= 0 && i < count) return samples[static_cast<size_t>(i)];
  if (!grid.reflect) return 0;
  return samples[static_cast<size_t>(i < 0 ? -i : 2 * (count - 1) - i)];
}

std::vector<double> plain_power(const std::vector<float>& samples, const MelPlan::Spec& spec, int64_t frame) {
  const int64_t n = spec.grid.n_fft, begin = (n - spec.win_length) / 2;
  std::vector<double> windowed(static_cast<size_t>(n));
  for (int64_t i = 0; i < spec.win_length; ++i) {
    const double window = 0.5 - 0.5 * std::cos(kTau * static_cast<double>(i) / static_cast<double>(spec.win_length));
    windowed[static_cast<size_t>(begin + i)] =
        window * sample_at(samples, spec.grid, frame * spec.grid.hop - spec.grid.padding() + begin + i);
  }
  std::vector<double> power;
  for (int64_t k = 0; k <= n / 2; ++k) {
    std::complex<double> sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += windowed[static_cast<size_t>(i)] *
             std::polar(1.0, -kTau * static_cast<double>(k * i % n) / static_cast<double>(n));
    power.push_back(spec.magnitude ? std::abs(sum) : std::norm(sum));
  }
  return power;
}

std::vector<float> computed(const std::vector<float>& samples, const MelPlan& plan) {
  const auto count = static_cast<int64_t>(samples.size());
  std::vector<float> out(static_cast<size_t>(plan.bands() * plan.grid().frames(count)));
  Buffer scratch = Buffer::allocate(static_cast<size_t>(plan.scratch_floats(count)) * sizeof(float));
  plan.compute(samples.data(), count, out.data(), reinterpret_cast<float*>(scratch.data()));
  return out;
}

void expect_plain(const MelPlan::Spec& spec, int64_t count) {
  const std::vector<float> samples = made_sound(count, spec.mel.rate);
  const MelPlan plan(spec);
  const MelFilters filters(spec.mel);
  const std::vector<float> made = computed(samples, plan);
  const int64_t frames = spec.grid.frames(count);
  const double loudest = *std::max_element(made.begin(), made.end());
  for (int64_t f = 0; f < frames; ++f) {
    const std::vector<double> power = plain_power(samples, spec, f);
    for (int64_t m = 0; m < plan.bands(); ++m) {
      double expected = 0;
      for (size_t k = 0; k < power.size(); ++k) expected += filters.weight(m, static_cast<int64_t>(k)) * power[k];
      ASSERT_NEAR(made[static_cast<size_t>(m * frames + f)], expected, 5e-6 * expected + 1e-9 * loudest)
          << "band " << m << ", frame " << f << ", n_fft " << spec.grid.n_fft;
    }
  }
}

MelPlan::Spec spec_of(int64_t n_fft, int64_t hop, int64_t n_mels) {
  MelPlan::Spec spec;
  spec.grid = {n_fft, hop, true, true};
  spec.win_length = n_fft;
  spec.mel.n_fft = n_fft;
  spec.mel.n_mels = n_mels;
  return spec;
}

TEST(MelPlan, equals_the_formulas_for_many_lengths_of_frames) {
  for (const int64_t n_fft : {400, 512, 1024, 25, 2, 3, 97, 127 * 2, 243})
    expect_plain(spec_of(n_fft, n_fft / 3 + 1, 20), 2000);
}

TEST(MelPlan, equals_the_formulas_with_every_choice) {
  MelPlan::Spec spec = spec_of(400, 160, 40);
  spec.win_length = 321;
  expect_plain(spec, 1777);
  spec.grid.reflect = false;
  spec.mel.scale = MelScale::kSlaney;
  spec.mel.normalized = true;
  expect_plain(spec, 1777);
  spec.grid.center = false;
  spec.magnitude = true;
  expect_plain(spec, 1777);
}

TEST(MelPlan, a_frame_is_the_same_whatever_lies_in_the_lanes_beside_it) {
  const MelPlan plan(spec_of(400, 160, 64));
  const std::vector<float> samples = made_sound(5000);
  const std::vector<float> whole = computed(samples, plan);
  const int64_t frames = plan.grid().frames(5000);
  // Shorter sounds have different frames in their last lanes.
  for (int64_t count = 4000; count < 4640; count += 160) {
    const std::vector<float> part = computed({samples.begin(), samples.begin() + count}, plan);
    const int64_t less = plan.grid().frames(count);
    for (int64_t m = 0; m < plan.bands(); ++m) {
      for (int64_t f = 0; f < less - 3; ++f)  // the last ones are mirrored at another place
        ASSERT_EQ(part[static_cast<size_t>(m * less + f)], whole[static_cast<size_t>(m * frames + f)]) << m << " " << f;
    }
  }
}

TEST(MelPlan, frames_are_counted_as_torch_stft_counts_them) {
  const FrameGrid centered = {400, 160, true, true};
  EXPECT_EQ(centered.frames(16000), 101);
  EXPECT_FALSE(centered.fits(200));
  EXPECT_TRUE(centered.fits(201));
  const FrameGrid zeros = {400, 160, true, false};
  EXPECT_TRUE(zeros.fits(0));
  EXPECT_EQ(zeros.frames(0), 1);
  const FrameGrid plain = {400, 160, false, false};
  EXPECT_FALSE(plain.fits(399));
  EXPECT_EQ(plain.frames(400), 1);
  EXPECT_EQ(plain.frames(720), 3);
}

TEST(MelPlan, logarithms_have_their_floors) {
  std::vector<float> values = {0.0f, 1.0f, 1000.0f};
  take_log(MelLog::kDecibel, values);
  EXPECT_FLOAT_EQ(values[0], -100.0f);
  EXPECT_FLOAT_EQ(values[1], 0.0f);
  EXPECT_FLOAT_EQ(values[2], 30.0f);
  values = {0.0f, 1.0f};
  take_log(MelLog::kNatural, values);
  EXPECT_FLOAT_EQ(values[0], std::log(1e-6f));
  EXPECT_NEAR(values[1], 1e-6f, 1e-9);
}

}  // namespace
}  // namespace forebay
