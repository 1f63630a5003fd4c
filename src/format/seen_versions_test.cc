#include "format/seen_versions.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(SeenVersions, TellsWhatWasNotHeardFromWhatHasNoVersion) {
  SeenVersions seen(4);
  seen.set(1, 99);
  seen.set(2, 0);
  seen.set_in_vain(3);
  EXPECT_TRUE(seen.unheard(0));
  EXPECT_FALSE(seen.find(0));
  EXPECT_EQ(seen.find(1), 99u);
  EXPECT_EQ(seen.find(2), 0u);
  EXPECT_FALSE(seen.unheard(3)) << "it is not asked again";
  EXPECT_FALSE(seen.find(3));
  seen.set(3, 7);
  EXPECT_EQ(seen.find(3), 7u);
  EXPECT_EQ(seen.bytes(), 32u);
}

TEST(SeenVersions, EveryVersionIsOne) {
  SeenVersions seen(1);
  for (const uint64_t version : {uint64_t{1}, uint64_t{2}, uint64_t{3}, UINT64_MAX}) {
    seen.set(0, version);
    ASSERT_TRUE(seen.find(0));
    EXPECT_NE(*seen.find(0), 0u);
  }
}

TEST(SeenVersions, TablesAreToldApart) { EXPECT_NE(SeenVersions(1).number(), SeenVersions(1).number()); }

}  // namespace
}  // namespace forebay
