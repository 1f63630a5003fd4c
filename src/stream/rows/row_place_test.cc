#include "stream/rows/row_place.h"

#include <gtest/gtest.h>

namespace forebay {

TEST(RowPlace, IsReadAsItIsWritten) {
  for (const std::string text : {"0/a", "7#0/a", "1700000000123456789#17/a/b #3.parquet", "5#2//", "5/#2/a"}) {
    const auto place = RowPlace::parse(text);
    ASSERT_TRUE(place) << text;
    EXPECT_EQ(place->to_string(), text);
  }
  for (const std::string text : {"", "#", "1#", "1#/a", "#1/a", "1#-1/a", "1#01/a", "1#1", "1#1/", "1#1#2/a",
                                 "1#9223372036854775807/a", "1#9223372036854775808/a", "1 #1/a"})
    EXPECT_FALSE(RowPlace::parse(text)) << text;
}

TEST(RowPlace, ComesByFileThenByRowAndTheLastBehindAll) {
  const auto at = [](const std::string& text) { return *RowPlace::parse(text); };
  EXPECT_LT(at("9/z"), at("10#0/a"));
  EXPECT_LT(at("9#9/a"), at("9#10/a"));
  EXPECT_LT(at("9#10/a"), at("9/a"));
  EXPECT_LT(at("9/a"), at("9#0/b"));
}

}  // namespace forebay
