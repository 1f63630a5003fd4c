#include "cluster/peer_health.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace forebay {

namespace {

using std::chrono::seconds;

}  // namespace

TEST(PeerHealth, WhoFailedIsLeftOutAndThenTriedByOneAlone) {
  PeerHealth health;
  EXPECT_TRUE(health.try_begin(seconds(0)));
  health.answered();
  EXPECT_TRUE(health.failed(seconds(10)));
  EXPECT_FALSE(health.may_ask(seconds(10)));
  EXPECT_FALSE(health.try_begin(seconds(10)));
  EXPECT_TRUE(health.may_ask(seconds(11)));
  EXPECT_TRUE(health.try_begin(seconds(11)));
  EXPECT_FALSE(health.may_ask(seconds(11))) << "one is finding out";
  EXPECT_FALSE(health.try_begin(seconds(12)));
  health.answered();
  EXPECT_TRUE(health.try_begin(seconds(12)));
  EXPECT_TRUE(health.try_begin(seconds(12)));
}

TEST(PeerHealth, RestsDoubleUpToTheLongestAndBeginAnewAfterAnAnswer) {
  PeerHealth health;
  PeerHealth::Time now{0}, rest = PeerHealth::kFirstBackoff;
  health.answered();
  EXPECT_TRUE(health.failed(now));
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(health.try_begin(now + rest - PeerHealth::Time(1)));
    now += rest;
    EXPECT_TRUE(health.try_begin(now));
    EXPECT_FALSE(health.failed(now)) << "no news";
    rest = std::min(2 * rest, PeerHealth::kLongestBackoff);
  }
  EXPECT_EQ(rest, PeerHealth::kLongestBackoff);
  now += rest;
  EXPECT_TRUE(health.try_begin(now));
  health.answered();
  EXPECT_TRUE(health.failed(now));
  EXPECT_TRUE(health.may_ask(now + PeerHealth::kFirstBackoff));
}

TEST(PeerHealth, FailuresOfRequestsThatWereUnderWayTogetherAreOne) {
  PeerHealth health;
  health.answered();
  EXPECT_TRUE(health.failed(seconds(0)));
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(health.failed(seconds(0)));
  EXPECT_TRUE(health.may_ask(seconds(1)));
}

TEST(PeerHealth, WhoWasNeverReachedMayBeStartingAndIsToldOfLaterAndOnce) {
  PeerHealth health;
  PeerHealth::Time now = seconds(100);
  int told = 0;
  for (PeerHealth::Time rest = PeerHealth::kFirstBackoff; now < seconds(200); rest *= 2) {
    ASSERT_TRUE(health.try_begin(now));
    if (health.failed(now)) {
      ++told;
      EXPECT_GE(now, seconds(100) + PeerHealth::kMayBeStarting);
    }
    now += std::min(rest, PeerHealth::kLongestBackoff);
  }
  EXPECT_EQ(told, 1);
  ASSERT_TRUE(health.try_begin(now));
  health.answered();
  EXPECT_TRUE(health.failed(now)) << "it was there";
}

TEST(PeerHealth, WhoIsThereAndRefusesIsToldOfAtOnce) {
  PeerHealth health;
  EXPECT_TRUE(health.failed(seconds(0), PeerHealth::Contact::kReached));
  EXPECT_TRUE(health.try_begin(seconds(1)));
  EXPECT_FALSE(health.failed(seconds(1), PeerHealth::Contact::kReached));
}

}  // namespace forebay
