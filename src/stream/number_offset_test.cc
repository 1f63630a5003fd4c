#include "stream/number_offset.h"

#include <gtest/gtest.h>

namespace forebay {

TEST(NumberOffset, OnlyTheShortestFormOfAWholeNumberIsOne) {
  EXPECT_EQ(number_of_offset("0"), 0u);
  EXPECT_EQ(number_of_offset("18446744073709551615"), UINT64_MAX);
  for (const std::string text : {"", "00", "01", "-1", "+1", "1 ", " 1", "1.0", "0x1", "18446744073709551616", "a"})
    EXPECT_FALSE(number_of_offset(text)) << text;
  EXPECT_FALSE(number_of_offset("0", 1));
  EXPECT_TRUE(check_number_offset("1", "a test", 1).ok());
  EXPECT_EQ(check_number_offset("0", "a test", 1).code(), Code::kInvalidArgument);
}

TEST(NumberOffset, TheyAreOrderedAsNumbers) {
  EXPECT_LT(compare_number_offsets("9", "10"), 0);
  EXPECT_GT(compare_number_offsets("200", "199"), 0);
  EXPECT_EQ(compare_number_offsets("7", "7"), 0);
}

}  // namespace forebay
