#include "ops/audio/white_noise.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

std::vector<float> noise(int64_t id, size_t count) {
  std::vector<float> values(count);
  RandomStream random({.seed = 3, .epoch = 0, .id = id, .occurrence = 0}, 0);
  fill_white_noise(random, values);
  return values;
}

TEST(WhiteNoise, is_normal) {
  const std::vector<float> values = noise(1, 200'001);
  double mean = 0, square = 0, fourth = 0, beside = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    mean += values[i];
    square += std::pow(values[i], 2);
    fourth += std::pow(values[i], 4);
    if (i > 0) beside += values[i] * values[i - 1];
  }
  const auto n = static_cast<double>(values.size());
  EXPECT_NEAR(mean / n, 0, 0.01);
  EXPECT_NEAR(square / n, 1, 0.015);
  EXPECT_NEAR(fourth / n, 3, 0.1);
  EXPECT_NEAR(beside / n, 0, 0.01);
}

TEST(WhiteNoise, follows_from_the_key_alone) {
  EXPECT_EQ(noise(1, 101), noise(1, 101));
  EXPECT_NE(noise(1, 101), noise(2, 101));
  // A shorter sequence is the beginning of a longer one.
  const std::vector<float> longer = noise(1, 100), shorter = noise(1, 51);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
}

}  // namespace
}  // namespace forebay
