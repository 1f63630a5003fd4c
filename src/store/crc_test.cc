#include "store/crc.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace forebay {
namespace {

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The check values of the catalogue of parametrised CRC algorithms (reveng.sourceforge.io).
TEST(Crc, ChecksumsOfNineDigitsAreThePublishedOnes) {
  EXPECT_EQ(crc32_iso(bytes_of("123456789")), 0xcbf43926u);
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283u);
  EXPECT_EQ(crc64_nvme(bytes_of("123456789")), 0xae8b14860a799888u);
}

TEST(Crc, NothingHasTheChecksumZero) {
  EXPECT_EQ(crc32_iso({}), 0u);
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc64_nvme({}), 0u);
}

// RFC 3720, B.4.
TEST(Crc, Crc32cOfThirtyTwoBytesIsThatOfTheStandard) {
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\xff'))), 0x62a8ab43u);
}

}  // namespace
}  // namespace forebay
