#include "codec/tokenizer/unicode_text.h"

#include <gtest/gtest.h>

namespace forebay::unicode {
namespace {

using Codes = std::vector<uint32_t>;

Codes formed(const Codes& codes, bool compatible, bool composed) {
  Codes made;
  for (const uint32_t code : codes) decompose(code, compatible, made);
  order_marks(made);
  if (composed) compose(made);
  return made;
}

std::vector<size_t> ends(std::string_view text) {
  std::vector<size_t> found;
  for (size_t at = 0; at < text.size();) found.push_back(at = grapheme_end(text, at));
  return found;
}

TEST(UnicodeText, forms_are_those_of_the_standard) {
  EXPECT_EQ(formed({0x1e69}, false, false), (Codes{'s', 0x323, 0x307}));
  EXPECT_EQ(formed({'s', 0x307, 0x323}, false, true), (Codes{0x1e69}));
  EXPECT_EQ(formed({0xfb01, 0xb2}, true, false), (Codes{'f', 'i', '2'}));
  EXPECT_EQ(formed({0xfb01}, false, false), (Codes{0xfb01}));
  EXPECT_EQ(formed({0xac01}, false, false), (Codes{0x1100, 0x1161, 0x11a8}));
  EXPECT_EQ(formed({0x1100, 0x1161, 0x11a8}, false, true), (Codes{0xac01}));
  EXPECT_EQ(formed({0x958}, false, true), (Codes{0x915, 0x93c}));  // excluded from composition
}

TEST(UnicodeText, every_form_is_its_own_form) {
  for (uint32_t code = 0; code < 0x110000; ++code) {
    for (const bool compatible : {false, true}) {
      const Codes apart = formed({code}, compatible, false), together = formed({code}, compatible, true);
      ASSERT_EQ(formed(apart, compatible, false), apart) << code;
      ASSERT_EQ(formed(together, compatible, true), together) << code;
      ASSERT_EQ(formed(together, compatible, false), apart) << code;
    }
  }
}

TEST(UnicodeText, graphemes_are_what_a_reader_sees) {
  EXPECT_EQ(ends("a\xcc\x81"
                 "b"),
            (std::vector<size_t>{3, 4}));
  EXPECT_EQ(ends("\r\n\n"), (std::vector<size_t>{2, 3}));
  EXPECT_EQ(ends("\U0001f1e9\U0001f1ea\U0001f1eb"), (std::vector<size_t>{8, 12}));
  EXPECT_EQ(ends("\u00a9\u200d\u00a9\u00a9"), (std::vector<size_t>{7, 9}));
  EXPECT_EQ(ends("\u1100\u1161\u11a8\u1100"), (std::vector<size_t>{9, 12}));
  EXPECT_EQ(ends("\u0600a"), (std::vector<size_t>{3}));
  EXPECT_EQ(ends("\u0915\u094d\u0915"), (std::vector<size_t>{9}));
}

}  // namespace
}  // namespace forebay::unicode
