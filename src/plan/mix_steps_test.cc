#include "plan/mix_steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace forebay {
namespace {

using Whole = std::vector<int64_t>;

Whole whole(const std::vector<double>& weights) { return whole_weights(weights); }

TEST(MixStepsTest, whole_weights_of_simple_shares) {
  EXPECT_EQ(whole({1}), (Whole{65536}));
  EXPECT_EQ(whole({0.25, 0.75}), (Whole{16384, 49152}));
  EXPECT_EQ(whole({3, 0, 1}), (Whole{49152, 0, 16384}));
  EXPECT_EQ(whole({1, 1, 1}), (Whole{21846, 21845, 21845}));
  EXPECT_EQ(whole({1e300, 1e300}), (Whole{32768, 32768}));
  EXPECT_EQ(whole({std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min()}), (Whole{65535, 1}));
}

TEST(MixStepsTest, a_weight_above_0_is_at_least_1) {
  std::vector<double> weights(1000, 1e-9);
  weights.push_back(1);
  weights.push_back(3);
  const Whole found = whole(weights);
  EXPECT_EQ(std::accumulate(found.begin(), found.end(), int64_t{0}), kMixPeriod);
  for (size_t i = 0; i < 1000; ++i) EXPECT_EQ(found[i], 1);
  EXPECT_EQ(found[1000], 64536 / 4);
  EXPECT_EQ(found[1001], 64536 / 4 * 3);
}

TEST(MixStepsTest, as_many_weights_as_there_can_be) {
  EXPECT_EQ(whole(std::vector<double>(65536, 0.1)), Whole(65536, 1));
  const Whole found = whole(std::vector<double>(65535, 0.1));
  EXPECT_EQ(found[0], 2);
  EXPECT_EQ(std::accumulate(found.begin(), found.end(), int64_t{0}), kMixPeriod);
}

TEST(MixStepsTest, error_of_weights_is_as_promised) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> weights(1 + random() % 300);
    for (double& weight : weights)
      weight = std::exp(static_cast<double>(random() % 1000) / 40) * (random() % 5 == 0 ? 0 : 1);
    weights[random() % weights.size()] = 1e9;
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const Whole found = whole(weights);
    ASSERT_EQ(std::accumulate(found.begin(), found.end(), int64_t{0}), kMixPeriod);
    double raised = 0;
    for (size_t i = 0; i < weights.size(); ++i) raised += found[i] == 1 ? 1 : 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      const double share = weights[i] / sum, error = std::abs(static_cast<double>(found[i]) - share * kMixPeriod);
      ASSERT_EQ(found[i] > 0, weights[i] > 0);
      ASSERT_LE(error, 1 + raised * share + 1e-6);
    }
  }
}

MixOptions ramp(int64_t length) {
  MixOptions options;
  options.stages = {{0, {1, 0}}, {length, {1, 3}}, {length + 50, {2, 2}}};
  options.ramp_linear = true;
  return options;
}

TEST(MixStepsTest, steps_of_a_ramp_are_equal_and_whole_windows) {
  for (const int64_t length : {1, 1000, 1024, 1025, 5000, 102'400, 102'401, 1'000'000, 6'553'600, 50'000'000}) {
    const std::vector<MixStep> steps = mix_steps(ramp(length));
    ASSERT_GE(steps.size(), 3);
    ASSERT_LE(steps.size(), 102);
    EXPECT_EQ(steps[0].from, 0);
    const size_t last = steps.size() - 3;  // of the first ramp
    EXPECT_EQ(steps[last + 1].from, length);
    EXPECT_EQ(steps[last + 2].from, length + 50);
    for (size_t i = 0; i < last; ++i) {
      const int64_t step = steps[i + 1].from - steps[i].from;
      EXPECT_EQ(step, steps[1].from);
      EXPECT_EQ(step % (length >= 6'553'600 ? kMixPeriod : 1024), 0) << length;
    }
    EXPECT_LE(steps[last + 1].from - steps[last].from, last == 0 ? length : steps[1].from);
  }
  EXPECT_EQ(mix_steps(ramp(102'400)).size(), 102);
}

TEST(MixStepsTest, a_step_has_the_share_of_its_middle) {
  const int64_t length = 1'000'000;
  const std::vector<MixStep> steps = mix_steps(ramp(length));
  for (size_t i = 0; steps[i].from < length; ++i) {
    const double middle = static_cast<double>(steps[i].from + steps[i + 1].from) / 2 / length;
    EXPECT_NEAR(static_cast<double>(steps[i].weights[1]), 0.75 * middle * kMixPeriod, 1);
  }
  EXPECT_EQ(steps.back().weights, (Whole{32768, 32768}));
}

TEST(MixStepsTest, stages_without_a_ramp) {
  MixOptions options = ramp(5000);
  options.ramp_linear = false;
  const std::vector<MixStep> steps = mix_steps(options);
  ASSERT_EQ(steps.size(), 3);
  EXPECT_EQ(steps[0].weights, (Whole{65536, 0}));
  EXPECT_EQ(steps[1].weights, (Whole{16384, 49152}));
  EXPECT_EQ(steps[1].from, 5000);
}

TEST(MixStepsTest, stages_that_are_left) {
  MixOptions options = ramp(4000);  // from (1, 0) to (1, 3)
  const auto first = [&](int64_t from) { return stages_from(options, from).front(); };
  EXPECT_EQ(stages_from(options, 0).size(), options.stages.size());
  EXPECT_EQ(first(1000).from, 1000);
  EXPECT_EQ(whole_weights(first(2000).weights), (Whole{40960, 24576})) << "halfway";
  EXPECT_EQ(whole_weights(first(4000).weights), (Whole{16384, 49152}));
  options.ramp_linear = false;
  EXPECT_EQ(first(3999).weights, options.stages[0].weights);
  EXPECT_EQ(first(4000).weights, options.stages[1].weights);
  EXPECT_EQ(stages_from(options, 1 << 30).size(), 1);
}

}  // namespace
}  // namespace forebay
