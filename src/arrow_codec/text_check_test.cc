#include "arrow_codec/text_check.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

std::span<const uint8_t> bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(TextCheck, knows_utf8_at_every_place_of_a_block) {
  for (size_t length = 0; length < 200; ++length) {
    const std::string plain(length, 'a');
    EXPECT_TRUE(is_utf8(bytes(plain)));
    EXPECT_TRUE(is_utf8(bytes(plain + "é€𝄞" + plain)));
    for (const std::string_view bad : {"\xff", "\x80", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
      EXPECT_FALSE(is_utf8(bytes(plain + std::string(bad) + plain))) << length;
      EXPECT_FALSE(is_utf8(bytes(plain + std::string(bad)))) << length;
    }
  }
}

TEST(TextCheck, lets_no_character_reach_from_one_string_into_the_next) {
  const std::string text = "aé€";  // of 1, 2 and 3 bytes
  for (int64_t cut = 0; cut <= 6; ++cut) {
    const std::vector<int64_t> offsets = {0, cut, 6};
    EXPECT_EQ(all_utf8(bytes(text), offsets), cut != 2 && cut != 4 && cut != 5) << cut;
  }
  const std::vector<int64_t> none = {0};
  EXPECT_TRUE(all_utf8({}, none));
}

}  // namespace
}  // namespace forebay
