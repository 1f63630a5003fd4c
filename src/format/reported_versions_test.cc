#include "format/reported_versions.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(ReportedVersions, TellsWhatWasNotHeardFromWhatHasNoVersion) {
  ReportedVersions seen(4);
  seen.set(1, 99);
  seen.set(2, 0);
  seen.set_unavailable(3);
  EXPECT_TRUE(seen.is_unknown(0));
  EXPECT_FALSE(seen.find(0));
  EXPECT_EQ(seen.find(1), 99u);
  ASSERT_TRUE(seen.find(2));
  EXPECT_FALSE(ReportedVersions::is_version(*seen.find(2)));
  EXPECT_FALSE(seen.is_unknown(3)) << "it is not asked again";
  EXPECT_FALSE(seen.find(3));
  seen.set(3, 7);
  EXPECT_EQ(seen.find(3), 7u);
  EXPECT_EQ(seen.bytes(), 32u);
}

TEST(ReportedVersions, EveryVersionIsOne) {
  ReportedVersions seen(1);
  for (const uint64_t version : {uint64_t{1}, uint64_t{2}, uint64_t{3}, UINT64_MAX}) {
    seen.set(0, version);
    ASSERT_TRUE(seen.find(0));
    EXPECT_NE(*seen.find(0), 0u);
    EXPECT_TRUE(ReportedVersions::is_version(*seen.find(0)));
  }
}

TEST(ReportedVersions, ObjectsWithoutAVersionAreNotThoseOfAnotherTable) {
  ReportedVersions one(1), other(1);
  one.set(0, 0);
  other.set(0, 0);
  EXPECT_NE(one.find(0), other.find(0));
}

TEST(ReportedVersions, WhatAnotherHostHasHeardCountsUntilThisOneHearsSomethingItself) {
  ReportedVersions one(2), other(2);
  one.set(0, 0);
  one.set(1, 77);
  for (const int64_t id : {0, 1}) {
    other.set_if_unknown(id, *one.find(id));
    EXPECT_EQ(other.find(id), one.find(id));
  }
  other.set(1, 78);
  other.set_if_unknown(1, 77);
  EXPECT_EQ(other.find(1), 78u);
}

}  // namespace
}  // namespace forebay
