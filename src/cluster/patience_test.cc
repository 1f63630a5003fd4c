#include "cluster/patience.h"

#include <gtest/gtest.h>

#include <random>

namespace forebay {

namespace {

using namespace std::chrono_literals;

using Wait = Patience::Wait;

}  // namespace

TEST(Patience, WaitsAsLongAsTheHostGetsOn) {
  Patience patience({.standstill = 2s, .total = 30s});
  Wait wait;
  for (int second = 0; second < 29; ++second)
    EXPECT_TRUE(patience.announced(wait, static_cast<uint64_t>(100 - second), second * 1s)) << second;
  EXPECT_FALSE(patience.announced(wait, 1, 30s)) << "and not for ever";
  Wait another;
  EXPECT_TRUE(patience.announced(another, 50, 31s)) << "nothing is wrong with the host";
}

TEST(Patience, EndsWhereTheHostStandsStill) {
  Patience patience({.standstill = 2s});
  Wait first, second;
  EXPECT_TRUE(patience.announced(first, 7, 0s));
  EXPECT_TRUE(patience.announced(second, 9, 1s));
  EXPECT_TRUE(patience.announced(first, 7, 1999ms));
  EXPECT_FALSE(patience.announced(first, 7, 2s));
  Wait later;
  EXPECT_FALSE(patience.announced(later, 7, 2500ms)) << "what it says is not believed for a while";
  EXPECT_TRUE(patience.announced(later, 7, 3s)) << "then one finds out";
  Wait beside;
  EXPECT_FALSE(patience.announced(beside, 7, 3s));
  EXPECT_TRUE(patience.announced(later, 6, 4s));
  EXPECT_TRUE(patience.announced(beside, 7, 4s)) << "it gets on";
}

TEST(Patience, OneThatFindsOutAndGoesAwayMakesRoomForAnother) {
  Patience patience({.standstill = 1s});
  Wait wait, finds_out, next;
  EXPECT_TRUE(patience.announced(wait, 7, 0s));
  EXPECT_FALSE(patience.announced(wait, 7, 1s));
  EXPECT_TRUE(patience.announced(finds_out, 7, 2s));
  EXPECT_FALSE(patience.announced(next, 7, 2s));
  patience.abandoned(finds_out);
  EXPECT_TRUE(patience.announced(next, 7, 2s));
  patience.decided(next, 3s);
  EXPECT_TRUE(patience.announced(wait = {}, 7, 3s));
}

TEST(Patience, NeverWaitsLongerThanItsLimitsWhateverTheHostSays) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    Patience patience({.standstill = 2s, .total = 10s});
    Patience::Time at{0};
    for (int i = 0; i < 20; ++i) {
      Wait wait;
      const Patience::Time since = at;
      while (patience.announced(wait, random() % 1000, at)) {
        ASSERT_LT(at - since, 10s) << seed;
        at += std::chrono::milliseconds(1 + random() % 3000);
      }
      at += std::chrono::milliseconds(random() % 1000);
    }
  }
}

TEST(Patience, PausesGrowToALimit) {
  EXPECT_EQ(retry_delay(1), 5ms);
  EXPECT_EQ(retry_delay(2), 10ms);
  EXPECT_EQ(retry_delay(6), 160ms);
  EXPECT_EQ(retry_delay(1'000'000), 160ms);
}

}  // namespace forebay
