#include "store/object_pins.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace forebay {
namespace {

TEST(ObjectPins, TheTagFirstSeenMustStay) {
  ObjectPins pins;
  EXPECT_TRUE(pins.check("a", "\"1\"").ok());
  EXPECT_TRUE(pins.check("a", "\"1\"").ok());
  EXPECT_TRUE(pins.check("b", "\"2\"").ok());
  const Status changed = pins.check("a", "\"2\"");
  EXPECT_EQ(changed.code(), Code::kCorrupt);
  EXPECT_TRUE(changed.message().starts_with("changed")) << changed.message();
  EXPECT_EQ(pins.check("a", "\"2\"").code(), Code::kCorrupt) << "it stays an error";
}

TEST(ObjectPins, NoTagPinsNothing) {
  ObjectPins pins;
  EXPECT_TRUE(pins.check("a", "").ok());
  EXPECT_TRUE(pins.check("a", "\"1\"").ok());
  EXPECT_TRUE(pins.check("a", "").ok());
  EXPECT_EQ(pins.size(), 1u);
}

TEST(ObjectPins, WhatWasWrittenOnPurposeMayChange) {
  ObjectPins pins;
  EXPECT_TRUE(pins.check("a", "\"1\"").ok());
  pins.forget("a");
  pins.forget("never seen");
  EXPECT_EQ(pins.size(), 0u);
  EXPECT_TRUE(pins.check("a", "\"2\"").ok());
}

TEST(ObjectPins, GrowingForgetsNothing) {
  ObjectPins pins(1 << 18);
  for (int i = 0; i < 50'000; ++i) ASSERT_TRUE(pins.check("key" + std::to_string(i), std::to_string(i)).ok());
  EXPECT_GT(pins.size(), 49'000u);
  int noticed = 0;
  for (int i = 0; i < 50'000; ++i) noticed += pins.check("key" + std::to_string(i), "other").ok() ? 0 : 1;
  EXPECT_GT(noticed, 49'000);
}

TEST(ObjectPins, MoreObjectsThanPlacesForgetSomeAndAccuseNone) {
  ObjectPins pins(4096);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(pins.check("key" + std::to_string(i), std::to_string(i)).ok());
  }
  EXPECT_LE(pins.size(), 4096u);
  EXPECT_GT(pins.size(), 2048u);
}

TEST(ObjectPins, pins_last_as_long_as_somebody_reads) {
  auto pins = std::make_shared<ObjectPins>();
  auto one = pins->begin_reading(pins), two = pins->begin_reading(pins);
  EXPECT_TRUE(pins->check("a", "1").ok());
  one.reset();
  EXPECT_EQ(pins->check("a", "2").code(), Code::kCorrupt) << "the other one still reads";
  two.reset();
  EXPECT_EQ(pins->size(), 0u);
  EXPECT_TRUE(pins->check("a", "2").ok());
  one = pins->begin_reading(pins);
  pins.reset();
  one.reset();  // the last reader
}

}  // namespace
}  // namespace forebay
