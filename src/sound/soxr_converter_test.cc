// Tests the converter of sample rates itself: counts, levels, channels and errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sound/readers.h"
#include "sound/sound_test_support.h"

namespace forebay {
namespace {

using namespace codec_test;

/// Converts frames that are given `step` at a time.
std::vector<float> resampled(const std::vector<float>& samples, int64_t from, int64_t to, int64_t channels = 1,
                             int64_t step = 1 << 20) {
  KeptFrames kept(channels);
  const auto converter = std::move(*soxr_converter(from, to, channels, kept));
  const auto frames = static_cast<int64_t>(samples.size()) / channels;
  for (int64_t at = 0; at < frames; at += step)
    EXPECT_TRUE(converter->frames(samples.data() + at * channels, std::min(step, frames - at)).ok());
  EXPECT_TRUE(converter->finish().ok());
  return kept.samples;
}

TEST(SoxrConverter, gives_exactly_the_number_of_frames_that_it_promises) {
  for (const auto& [from, to] : {std::pair<int64_t, int64_t>{44'100, 16'000},
                                 {16'000, 44'100},
                                 {48'000, 16'000},
                                 {8'000, 8'001},
                                 {22'050, 22'049},
                                 {1, 256},
                                 {256, 1}}) {
    for (const int64_t count : {0, 1, 2, 100, 5'000}) {
      const auto made = resampled(std::vector<float>(static_cast<size_t>(count), 0.5f), from, to);
      EXPECT_EQ(static_cast<int64_t>(made.size()), RateConverter::converted(count, from, to)) << from << " " << to;
    }
  }
}

TEST(SoxrConverter, keeps_a_constant_level) {
  for (const auto& [from, to] : {std::pair<int64_t, int64_t>{44'100, 16'000}, {16'000, 44'100}, {8'000, 48'000}}) {
    const auto made = resampled(std::vector<float>(20'000, 0.5f), from, to);
    for (size_t i = made.size() / 4; i < made.size() * 3 / 4; ++i) ASSERT_NEAR(made[i], 0.5f, 1e-5) << from << " " << i;
  }
}

TEST(SoxrConverter, answers_an_impulse_symmetrically) {
  std::vector<float> impulse(4001, 0.0f);
  impulse[2000] = 1;
  const auto made = resampled(impulse, 16'000, 32'000);
  for (size_t i = 1; i < 1000; ++i) ASSERT_NEAR(made[4000 - i], made[4000 + i], 2e-6) << i;
  EXPECT_EQ(std::max_element(made.begin(), made.end()) - made.begin(), 4000);
}

TEST(SoxrConverter, keeps_channels_apart) {
  std::vector<float> samples;
  for (int i = 0; i < 5000; ++i) samples.insert(samples.end(), {0.25f, 0.0f, -0.5f});
  const auto made = resampled(samples, 44'100, 16'000, 3);
  for (size_t i = made.size() / 12 * 3; i + 2 < made.size() * 3 / 4; i += 3) {
    ASSERT_NEAR(made[i], 0.25f, 1e-5);
    ASSERT_EQ(made[i + 1], 0.0f);
    ASSERT_NEAR(made[i + 2], -0.5f, 1e-5);
  }
}

TEST(SoxrConverter, gives_each_channel_what_it_would_give_it_alone) {
  std::vector<float> both, left;
  for (int i = 0; i < 3000; ++i) {
    left.push_back(std::sin(static_cast<float>(i)) / 2);
    both.insert(both.end(), {left.back(), 0.125f});
  }
  const auto alone = resampled(left, 44'100, 16'000), together = resampled(both, 44'100, 16'000, 2);
  ASSERT_EQ(together.size(), 2 * alone.size());
  for (size_t i = 0; i < alone.size(); ++i) ASSERT_EQ(together[2 * i], alone[i]) << i;
}

TEST(SoxrConverter, gives_the_same_bits_however_the_input_is_cut_and_again) {
  std::vector<float> samples;
  for (int i = 0; i < 30'000; ++i) samples.push_back(std::sin(static_cast<float>(i) * 0.37f) / 2);
  const auto whole = resampled(samples, 44'100, 16'000);
  for (const int64_t step : {1, 3, 4095, 4097, 29'999}) EXPECT_EQ(resampled(samples, 44'100, 16'000, 1, step), whole);
  EXPECT_EQ(resampled(samples, 44'100, 16'000), whole);
}

TEST(SoxrConverter, ends_with_the_error_of_the_next_sink) {
  class Full final : public AudioSink {
   public:
    Status frames(const float*, int64_t) override { return out_of_budget("full", 1); }
  };
  Full full;
  const auto converter = std::move(*soxr_converter(44'100, 16'000, 1, full));
  const std::vector<float> samples(100'000, 0.5f);
  Status status = converter->frames(samples.data(), 100'000);
  if (status.ok()) status = converter->finish();
  EXPECT_EQ(status.code(), Code::kOutOfBudget);
}

TEST(SoxrConverter, refuses_rates_that_are_more_than_its_limit_apart) {
  KeptFrames kept(1);
  EXPECT_TRUE(soxr_converter(1000, 1000 * kMaxRateRatio, 1, kept).ok());
  EXPECT_TRUE(soxr_converter(1000 * kMaxRateRatio, 1000, 1, kept).ok());
  EXPECT_EQ(soxr_converter(1000, 1000 * kMaxRateRatio + 1, 1, kept).status().code(), Code::kUnsupported);
  EXPECT_EQ(soxr_converter(1000 * kMaxRateRatio + 1, 1000, 1, kept).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace forebay
