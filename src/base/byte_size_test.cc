#include "base/byte_size.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(ParseByteSize, KnowsBothKindsOfUnits) {
  EXPECT_EQ(parse_byte_size("0"), 0u);
  EXPECT_EQ(parse_byte_size("4096"), 4096u);
  EXPECT_EQ(parse_byte_size("2GiB"), uint64_t{2} << 30);
  EXPECT_EQ(parse_byte_size("2gb"), 2'000'000'000u);
  EXPECT_EQ(parse_byte_size("1.5 KiB"), 1536u);
  EXPECT_EQ(parse_byte_size("3M"), 3'000'000u);
}

TEST(ParseByteSize, RefusesWhatIsNoSize) {
  for (const char* text :
       {"", "much", "-1", "1.5.2", "2 GiBs", "1e99", "nan", "inf", "9999999999GiB", "GiB", "2Kib2"}) {
    EXPECT_EQ(parse_byte_size(text), std::nullopt) << text;
  }
}

TEST(FormatByteSize, IsShort) {
  EXPECT_EQ(format_byte_size(0), "0 B");
  EXPECT_EQ(format_byte_size(1023), "1023 B");
  EXPECT_EQ(format_byte_size(1536), "1.5 KiB");
  EXPECT_EQ(format_byte_size((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_byte_size(uint64_t{3} << 30), "3.0 GiB");
}

}  // namespace
}  // namespace forebay
