#include "cache/keep_policy.h"

#include <gtest/gtest.h>

#include "cache/cache_test_support.h"

namespace forebay {
namespace {

TEST(KeepPolicy, EntriesThatCostAboutTheSameStay) {
  KeepPolicy policy;
  for (uint64_t i = 0; i < 100; ++i) policy.insert(id_of(i), 1000, 0.010);
  EXPECT_FALSE(policy.choose_victims(1000, 0.015));
  EXPECT_FALSE(policy.choose_victims(1000, 0.010 * KeepPolicy::kReplacementGain));
}

TEST(KeepPolicy, AnEntryThatSavesFarMoreTakesTheRoomOfTheCheapest) {
  KeepPolicy policy;
  policy.insert(id_of(1), 1000, 1.0);
  policy.insert(id_of(2), 1000, 0.001);
  policy.insert(id_of(3), 1000, 0.002);
  const auto victims = policy.choose_victims(1500, 0.1);
  ASSERT_TRUE(victims);
  EXPECT_EQ(*victims, (std::vector<Hash128>{id_of(2), id_of(3)}));
}

TEST(KeepPolicy, RoomThatCannotBeMadeIsNotBegunWith) {
  KeepPolicy policy;
  policy.insert(id_of(1), 1000, 0.001);
  EXPECT_FALSE(policy.choose_victims(5000, 100));
}

TEST(KeepPolicy, WhatIsGoneIsNoVictim) {
  KeepPolicy policy;
  policy.insert(id_of(1), 1000, 0.001);
  policy.erase(id_of(1));
  EXPECT_FALSE(policy.choose_victims(1000, 100));
}

}  // namespace
}  // namespace forebay
