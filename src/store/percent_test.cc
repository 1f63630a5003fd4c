#include "store/percent.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "store/base64.h"

namespace forebay {
namespace {

TEST(PercentOfListings, EveryByteComesBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(percent_decode_listing(percent_encode(all)), all);
  EXPECT_EQ(percent_decode_listing(percent_encode_path(all)), all);
}

TEST(PercentOfListings, ACutOrWrongEscapeStays) {
  for (const char* text : {"%", "a%", "%4", "%4g", "%g4", "%%", "100%"}) EXPECT_EQ(percent_decode_listing(text), text);
  EXPECT_EQ(percent_decode_listing("%%41+%2b%2B%41"), "%A ++A");
}

TEST(Base64, IsFilledUpAsRfc4648Says) {
  struct Case {
    std::vector<uint8_t> bytes;
    const char* text;
  };
  for (const Case& at : {Case{{}, ""}, Case{{'f'}, "Zg=="}, Case{{'f', 'o'}, "Zm8="}, Case{{'f', 'o', 'o'}, "Zm9v"},
                         Case{{'f', 'o', 'o', 'b'}, "Zm9vYg=="}, Case{{0xfb, 0xff, 0xfe}, "+//+"}}) {
    EXPECT_EQ(base64(at.bytes), at.text);
  }
}

}  // namespace
}  // namespace forebay
