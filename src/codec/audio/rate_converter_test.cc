// Tests resampling: lengths, tones that must be kept or removed, and independence of how the input
// is divided.
#include "codec/audio/rate_converter.h"

#include <cmath>
#include <numbers>

#include "codec/audio/audio_test_support.h"

namespace forebay {
namespace {

using namespace codec_test;

std::vector<float> tone(double hz, int64_t rate, int64_t count) {
  std::vector<float> samples;
  for (int64_t i = 0; i < count; ++i)
    samples.push_back(static_cast<float>(
        0.5 * std::sin(2 * std::numbers::pi * hz * static_cast<double>(i) / static_cast<double>(rate))));
  return samples;
}

std::vector<float> converted(const std::vector<float>& samples, int64_t from, int64_t to, int64_t channels,
                             int64_t step) {
  KeptFrames kept(channels);
  auto converter = RateConverter::create(from, to, channels, kept);
  EXPECT_TRUE(converter.ok());
  const auto frames = static_cast<int64_t>(samples.size()) / channels;
  for (int64_t at = 0; at < frames; at += step) {
    const Status status = (*converter)->frames(samples.data() + at * channels, std::min(step, frames - at));
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  EXPECT_TRUE((*converter)->finish().ok());
  return kept.samples;
}

TEST(RateConverter, the_length_is_rounded_up) {
  EXPECT_EQ(RateConverter::converted(44100, 44100, 16000), 16000);
  EXPECT_EQ(RateConverter::converted(44101, 44100, 16000), 16001);
  for (const int64_t count : {0, 1, 7, 440, 44101}) {
    const auto made = converted(tone(100, 44100, count), 44100, 16000, 1, 10'000);
    EXPECT_EQ(static_cast<int64_t>(made.size()), RateConverter::converted(count, 44100, 16000)) << count;
  }
}

TEST(RateConverter, a_tone_below_half_of_both_rates_stays_what_it_is) {
  for (const auto& [from, to] : {std::pair{44100, 16000}, {8000, 16000}, {16000, 44100}, {48000, 16000}}) {
    const auto made = converted(tone(1000, from, from), from, to, 1, from);
    const auto expected = tone(1000, to, to);
    ASSERT_EQ(made.size(), expected.size());
    for (size_t i = made.size() / 10; i < made.size() * 9 / 10; ++i)
      ASSERT_NEAR(made[i], expected[i], 2e-5) << from << " " << i;
  }
}

TEST(RateConverter, a_tone_above_half_of_the_new_rate_goes) {
  const auto made = converted(tone(12000, 44100, 44100), 44100, 16000, 1, 44100);
  for (size_t i = made.size() / 10; i < made.size() * 9 / 10; ++i) ASSERT_NEAR(made[i], 0, 2e-6) << i;
}

TEST(RateConverter, the_values_do_not_depend_on_how_the_input_is_cut) {
  const auto samples = tone(440, 44100, 40'000);
  const auto whole = converted(samples, 44100, 16000, 2, 20'000);
  for (const int64_t step : {1, 100, 4096, 7777})
    EXPECT_TRUE(converted(samples, 44100, 16000, 2, step) == whole) << step;
}

TEST(RateConverter, rates_that_are_too_far_apart_are_refused) {
  KeptFrames kept(1);
  EXPECT_EQ(RateConverter::create(1, 16000, 1, kept).status().code(), Code::kUnsupported);
  EXPECT_TRUE(RateConverter::create(4000, 768'000, 1, kept).ok());
}

}  // namespace
}  // namespace forebay
