#include "format/text_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace forebay {
namespace {

Result<Buffer> of(const std::u32string& characters) {
  return text_of_row({reinterpret_cast<const uint8_t*>(characters.data()), 4 * characters.size()}, DType::kUint32);
}

std::string text(const Result<Buffer>& made) {
  EXPECT_TRUE(made.ok());
  return {reinterpret_cast<const char*>(made->data()), made->size()};
}

TEST(text_rows, code_points_become_utf8) {
  EXPECT_EQ(text(of(U"")), "");
  EXPECT_EQ(text(of(std::u32string(3, U'\0'))), "");
  EXPECT_EQ(text(of(std::u32string(U"a\0b\0\0", 5))), std::string("a\0b", 3)) << "only what fills up goes";
  EXPECT_EQ(text(of({0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF})),
            "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
  EXPECT_EQ(text(of({0xDC80, 'x', 0xDCFF})), "\x80x\xFF");
}

TEST(text_rows, what_is_no_character_is_told) {
  for (const uint32_t code : {0xD800u, 0xDC7Fu, 0xDD00u, 0xDFFFu, 0x110000u, 0xFFFFFFFFu}) {
    const Status status = of({'a', static_cast<char32_t>(code)}).status();
    EXPECT_EQ(status.code(), Code::kUnsupported) << code;
  }
}

TEST(text_rows, bytes_are_taken_as_they_are) {
  const std::vector<uint8_t> row = {'a', 0xFF, 0, 'b', 0, 0};
  EXPECT_EQ(text(text_of_row(row, DType::kUint8)), std::string("a\xFF\0b", 4));
  EXPECT_EQ(text(text_of_row({}, DType::kUint8)), "");
}

}  // namespace
}  // namespace forebay
