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
  EXPECT_EQ(parse_byte_size("2G"), 2'000'000'000u);
  EXPECT_EQ(parse_byte_size("2gi"), uint64_t{2} << 30);
  EXPECT_EQ(parse_byte_size("2gib"), uint64_t{2} << 30);
  EXPECT_EQ(parse_byte_size(" \t7 b\n"), 7u);
}

TEST(ParseByteSize, IsExactToTheEnd) {
  EXPECT_EQ(parse_byte_size("9007199254740993"), 9'007'199'254'740'993u);  // not a double
  EXPECT_EQ(parse_byte_size("9223372036854775807"), 9'223'372'036'854'775'807u);
  EXPECT_EQ(parse_byte_size("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_byte_size("18446744073709551617"), std::nullopt);
  EXPECT_EQ(parse_byte_size("8388607TiB"), uint64_t{8388607} << 40);
  EXPECT_EQ(parse_byte_size("8388608TiB"), std::nullopt);
  EXPECT_EQ(parse_byte_size("8388608.0TiB"), std::nullopt);
}

TEST(ParseByteSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "much", "-1", "1.5.2", "2 GiBs", "1e99", "nan", "inf", "9999999999GiB", "GiB", "2Kib2",
                           ".", ".GiB", "infb", "+1", "1 0", "2 G i", "0x10"}) {
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
