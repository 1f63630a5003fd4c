#include <cmath>

#include <gtest/gtest.h>

#include "forebay/profile.h"

namespace forebay {
namespace {

// 1,000 samples on two cores, with 10 ms of work each. A cache leaves 1 ms of it, and no reads.
Profile measured() {
  Profile profile;
  profile.size = 1000;
  profile.samples = 200;
  profile.threads = 2;
  const SampleCost made{.cpu_seconds = 0.01, .stored_bytes = 100'000, .stored_reads = 1};
  profile.strategies = {
      {.name = "cache behind resize, in memory",
       .behind = 1,
       .tier = StrategyTier::kMemory,
       .bytes = {1e8},
       .preparation_seconds = {5},
       .rate = {2000, 1800, 2200},
       .preparing = made,
       .kept = {.cpu_seconds = 0.001}},
      {.name = "nothing kept", .preparation_seconds = {5}, .rate = {200, 190, 210}, .preparing = made, .kept = made}};
  return profile;
}

TEST(Predict, CoresShareTheWork) {
  const Result<Profile> there = predict(measured(), {.cores = 8});
  ASSERT_TRUE(there.ok());
  EXPECT_DOUBLE_EQ(there->strategies[0].rate.value, 8000);
  EXPECT_DOUBLE_EQ(*there->strategies[0].rate.low, 7200) << "in proportion as wide as what was measured";
  EXPECT_DOUBLE_EQ(there->unchanged()->rate.value, 800);
  EXPECT_DOUBLE_EQ(there->strategies[0].preparation_seconds.value, 1.25);
  EXPECT_NE(to_text(*there).find("Predicted for 8 cores"), std::string::npos);
}

TEST(Predict, AStoreFarAwaySlowsOnlyWhatReadsIt) {
  const Result<Profile> there = predict(measured(), {.bytes_per_second = 1e6});
  ASSERT_TRUE(there.ok());
  EXPECT_DOUBLE_EQ(there->strategies[0].rate.value, 2000);
  EXPECT_DOUBLE_EQ(there->unchanged()->rate.value, 10);
  EXPECT_DOUBLE_EQ(there->strategies[0].preparation_seconds.value, 100);
}

TEST(Predict, APartThatDoesNotFitHasTheRateWithoutACache) {
  Profile half = measured();
  half.strategies[0].fits = 0.5;
  const Result<Profile> there = predict(half, {.bytes_per_second = 1e6});
  EXPECT_NEAR(there->strategies[0].rate.value, 1 / (0.5 / 2000 + 0.5 / 10), 1e-9);
}

TEST(Predict, UnspecifiedFiguresAreUnchanged) {
  const Result<Profile> there = predict(measured(), {});
  EXPECT_DOUBLE_EQ(there->strategies[0].rate.value, 2000);
  EXPECT_DOUBLE_EQ(there->unchanged()->rate.value, 200);
}

TEST(Predict, NumbersThatNoHostHasAreRefused) {
  for (const Elsewhere& where : {Elsewhere{.cores = 0}, Elsewhere{.latency_seconds = -1},
                                 Elsewhere{.bytes_per_second = NAN}, Elsewhere{.cores = 1, .requests = 0}})
    EXPECT_EQ(predict(measured(), where).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
