#include "study/filling.h"

#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

// Batches of 32 samples that take 2 s each; the first one takes 10 s more.
std::vector<Group> batches(size_t count) {
  std::vector<Group> seen(count, Group{32, 2});
  seen.front().sum += 10;
  return seen;
}

TEST(Filling, OneTimeCostsAreNotExtrapolated) {
  const Estimate seconds = seconds_to_make(batches(20), 32'000);
  EXPECT_NEAR(seconds.value, 2010, 0.01);
  ASSERT_TRUE(seconds.low && seconds.high);
  EXPECT_LE(*seconds.low, seconds.value);
  EXPECT_GE(*seconds.high, seconds.value);
}

TEST(Filling, AllOfAFewBatchesCount) { EXPECT_NEAR(seconds_to_make(batches(5), 32'000).value, 4000, 0.01); }

TEST(Filling, AFullPassIsNotExtrapolated) { EXPECT_NEAR(seconds_to_make(batches(20), 640).value, 50, 0.01); }

}  // namespace
}  // namespace forebay
