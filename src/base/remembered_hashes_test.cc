#include "base/remembered_hashes.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(RememberedHashes, FindsWhatWasKeptAndTakesNoMemoryBefore) {
  RememberedHashes hashes(3);
  EXPECT_FALSE(hashes.find(1));
  EXPECT_EQ(hashes.bytes(), 0u);
  hashes.keep(1, {7, 8});
  EXPECT_EQ(hashes.find(1), (Hash128{7, 8}));
  EXPECT_FALSE(hashes.find(0));
  EXPECT_FALSE(hashes.find(2));
  EXPECT_EQ(hashes.bytes(), 48u);
}

TEST(RememberedHashes, RemembersNoneWhereThereAreTooMany) {
  RememberedHashes hashes(11, 10);
  hashes.keep(1, {7, 8});
  EXPECT_FALSE(hashes.find(1));
  EXPECT_EQ(hashes.bytes(), 0u);
}

}  // namespace
}  // namespace forebay
