#include "study/estimate.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(Estimate, NothingSeenAndOneGroupHaveNoBounds) {
  EXPECT_EQ(ratio_of({}).value, 0);
  EXPECT_FALSE(ratio_of({}).low.has_value());
  const std::vector<Group> one = {{4, 12}};
  EXPECT_EQ(ratio_of(one).value, 3);
  EXPECT_FALSE(ratio_of(one).high.has_value());
}

TEST(Estimate, EqualGroupsGiveAnIntervalOfWidthZero) {
  const std::vector<Group> groups = {{2, 6}, {4, 12}, {1, 3}};
  const Estimate ratio = ratio_of(groups);
  EXPECT_DOUBLE_EQ(ratio.value, 3);
  EXPECT_DOUBLE_EQ(*ratio.low, 3);
  EXPECT_DOUBLE_EQ(*ratio.high, 3);
}

TEST(Estimate, ACompleteObservationHasNoError) {
  const std::vector<Group> groups = {{2, 6}, {4, 20}, {1, 1}};
  const Estimate of_all = ratio_of(groups, 1);
  EXPECT_DOUBLE_EQ(*of_all.low, of_all.value);
  EXPECT_LT(*ratio_of(groups, 0).low, *ratio_of(groups, 0.9).low) << "the more was seen, the surer";
}

TEST(Estimate, TheConfidenceIntervalHasItsCoverage) {
  std::mt19937_64 random(5);
  std::lognormal_distribution<double> bytes(0, 0.5);
  const double truth = std::exp(0.125);
  int within = 0;
  constexpr int kRuns = 1000;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<Group> groups;
    for (int i = 0; i < 8; ++i) {
      Group group{30 + static_cast<double>(random() % 9), 0};
      for (int sample = 0; sample < static_cast<int>(group.units); ++sample) group.sum += bytes(random);
      groups.push_back(group);
    }
    const Estimate ratio = ratio_of(groups);
    within += *ratio.low <= truth && truth <= *ratio.high ? 1 : 0;
  }
  EXPECT_GE(within, kRuns * 92 / 100);
  EXPECT_LE(within, kRuns * 98 / 100) << "bounds that are too wide say nothing";
}

TEST(Estimate, TheInverseSwapsTheBounds) {
  const Estimate turned = inverse({4, 2, 8});
  EXPECT_DOUBLE_EQ(turned.value, 0.25);
  EXPECT_DOUBLE_EQ(*turned.low, 0.125);
  EXPECT_DOUBLE_EQ(*turned.high, 0.5);
  EXPECT_FALSE(inverse({4, 0, 8}).high.has_value()) << "as long as one likes";
  EXPECT_DOUBLE_EQ(*times({4, 2, 8}, 10).high, 80);
}

}  // namespace
}  // namespace forebay
