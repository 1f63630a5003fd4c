#include "base/hash.h"

#include <gtest/gtest.h>

#include <string>

namespace forebay {
namespace {

TEST(Hash, is_xxh3_128_as_published) {
  EXPECT_EQ(hash128("").to_string(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash128("abc").to_string(), "06b05ab6733a618578af5f94892f3950");
}

TEST(Hash, pieces_give_the_hash_of_the_whole) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 31);
  const Hash128 whole = hash128(text);
  for (size_t piece : {1, 7, 64, 240, 4096}) {
    Hasher hasher;
    for (size_t at = 0; at < text.size(); at += piece) hasher.update(std::string_view(text).substr(at, piece));
    hasher.update("");
    EXPECT_EQ(hasher.digest(), whole) << piece;
    EXPECT_EQ(hasher.digest(), whole) << "asking changes nothing";
  }
}

TEST(Hash, digits_come_back_and_anything_else_is_refused) {
  const Hash128 hash = hash128("forebay");
  Hash128 read;
  ASSERT_TRUE(Hash128::parse(hash.to_string(), &read));
  EXPECT_EQ(read, hash);
  for (const char* bad :
       {"", "0", "0000000000000000000000000000000", "000000000000000000000000000000000",
        "0000000000000000000000000000000g", "-000000000000000000000000000000f", "0000000000000000 00000000000000f"}) {
    EXPECT_FALSE(Hash128::parse(bad, &read)) << bad;
  }
}

}  // namespace
}  // namespace forebay
