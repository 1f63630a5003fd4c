#include "base/utf8.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

std::span<const uint8_t> bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(Utf8, knows_utf8_at_every_place_of_a_block) {
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

TEST(Utf8, says_where_the_first_character_is_that_is_none) {
  for (size_t length = 0; length < 200; ++length) {
    const std::string plain(length, 'a');
    EXPECT_EQ(first_not_utf8(bytes(plain + "é€𝄞" + plain)), std::nullopt);
    for (const std::string_view bad :
         {"\xff", "\x80", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
      EXPECT_EQ(first_not_utf8(bytes(plain + "é" + std::string(bad) + plain)), length + 2) << length;
    }
  }
}

TEST(Utf8, both_ways_of_checking_agree_on_all_that_two_bytes_can_be) {
  for (unsigned pair = 0; pair < 65536; ++pair) {
    for (const std::string_view tail : {"", "\x80", "\x80\x80", "a"}) {
      const std::string text = std::string{static_cast<char>(pair >> 8), static_cast<char>(pair)} + std::string(tail);
      ASSERT_EQ(is_utf8(bytes(text)), !first_not_utf8(bytes(text))) << pair << tail;
    }
  }
}

TEST(Utf8, lets_no_character_reach_from_one_string_into_the_next) {
  const std::string text = "aé€";  // of 1, 2 and 3 bytes
  for (int64_t cut = 0; cut <= 6; ++cut) {
    const std::vector<int64_t> offsets = {0, cut, 6};
    EXPECT_EQ(all_utf8(bytes(text), offsets), cut != 2 && cut != 4 && cut != 5) << cut;
  }
  const std::vector<int64_t> none = {0};
  EXPECT_TRUE(all_utf8({}, none));
}

TEST(Utf8, writes_every_character_as_it_is_read) {
  for (uint32_t code = 0; code <= 0x10ffff; ++code) {
    std::string text;
    append_utf8(code, text);
    const bool character = code < 0xd800 || code > 0xdfff;
    ASSERT_EQ(is_utf8(text), character) << code;
    ASSERT_EQ(text.size(), code < 0x80 ? 1u : code < 0x800 ? 2u : code < 0x10000 ? 3u : 4u) << code;
  }
  std::string text = "a";
  for (const uint32_t code : {0x24u, 0xe9u, 0x20acu, 0x1d11eu}) append_utf8(code, text);
  EXPECT_EQ(text, "a$é€𝄞");
}

}  // namespace
}  // namespace forebay
