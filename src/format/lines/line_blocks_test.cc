#include "format/lines/line_blocks.h"

#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace forebay {
namespace {

std::span<const uint8_t> block_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::vector<LineSlice> sliced(std::string_view text, size_t block_bytes, LineRows rows) {
  std::vector<BlockScan> scans;
  for (size_t at = 0; at < text.size(); at += block_bytes)
    scans.push_back(scan_block(block_of(text.substr(at, block_bytes)), at == 0, rows));
  return slices_of(scans, text.size(), block_bytes, rows);
}

struct PlainLine {
  uint64_t begin;
  bool row;
};

// Scans the whole text line by line: the expected result for every division into blocks.
std::vector<PlainLine> plain_lines(std::string_view text, LineRows rows) {
  std::vector<PlainLine> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (at == 0 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    lines.push_back({at, rows == LineRows::kAll || line.find_first_not_of(" \t\r") != std::string_view::npos});
    at = end + 1;
  }
  return lines;
}

void expect_like_plain(std::string_view text, size_t block_bytes, LineRows rows) {
  const std::vector<PlainLine> lines = plain_lines(text, rows);
  size_t line = 0;
  int64_t row = 0;
  for (const LineSlice& slice : sliced(text, block_bytes, rows)) {
    // Slices without a row are omitted.
    while (line < lines.size() && lines[line].begin < slice.begin) {
      EXPECT_FALSE(lines[line].row);
      ++line;
    }
    ASSERT_LT(line, lines.size());
    EXPECT_EQ(lines[line].begin, slice.begin);
    EXPECT_EQ(static_cast<int64_t>(line), slice.first_line);
    EXPECT_EQ(row, slice.first_row);
    int64_t counted = 0;
    for (; line < lines.size() && lines[line].begin < slice.end; ++line) counted += lines[line].row ? 1 : 0;
    EXPECT_EQ(counted, slice.rows);
    EXPECT_FALSE(slice.cut);
    row += counted;
  }
  for (; line < lines.size(); ++line) EXPECT_FALSE(lines[line].row);
}

TEST(LineBlocks, lines_are_the_same_however_a_file_is_cut_into_blocks) {
  for (const std::string_view text :
       {"", "\n", "a", "a\n", "\n\n\n", "a\nb", "a\r\nbc\r\n", "\xef\xbb\xbf", "\xef\xbb\xbf\n",
        "\xef\xbb\xbf"
        "a\n",
        "first\n\n \t\r\nsecond line\n   \nx", "  \n  \n", "\r\n\r\n", "no newline at all in here"}) {
    for (size_t block_bytes = 1; block_bytes < 30; ++block_bytes) {
      SCOPED_TRACE(std::string(text) + " in blocks of " + std::to_string(block_bytes));
      if (block_bytes >= 3 || !text.starts_with("\xef")) expect_like_plain(text, block_bytes, LineRows::kNotBlank);
      expect_like_plain(text, block_bytes, LineRows::kAll);
    }
  }
}

TEST(LineBlocks, lines_of_random_texts_are_those_of_a_plain_loop) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (size_t length = random() % 60; text.size() < length;) text += "\n\n a\r\t"[random() % 6];
    const size_t block_bytes = 1 + random() % 20;
    for (const LineRows rows : {LineRows::kAll, LineRows::kNotBlank}) expect_like_plain(text, block_bytes, rows);
  }
}

TEST(LineBlocks, a_line_longer_than_the_bound_is_cut_and_the_next_begins_where_it_ends) {
  const uint64_t block = 1 << 20;
  std::string text = "short\n" + std::string(kMostLineBytes + 2 * block, 'x') + "\nlast\n";
  const std::vector<LineSlice> slices = sliced(text, block, LineRows::kAll);
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_TRUE(slices[0].cut);
  EXPECT_EQ(slices[0].rows, 2);
  EXPECT_EQ(slices[0].end, block);
  EXPECT_FALSE(slices[1].cut);
  EXPECT_EQ(slices[1].first_line, 2);
  EXPECT_EQ(text.substr(slices[1].begin), "last\n");
}

TEST(LineBlocks, a_line_that_is_too_long_and_begins_where_a_block_does_is_seen) {
  const uint64_t block = 1 << 20;
  std::string text;
  while (text.size() < block) text += "0123456\n";
  ASSERT_EQ(text.size(), block);
  text += std::string(kMostLineBytes + 2 * block, 'x') + "\nlast\n";
  const std::vector<LineSlice> slices = sliced(text, block, LineRows::kAll);
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_TRUE(slices[0].cut);
  EXPECT_EQ(slices[0].rows, static_cast<int64_t>(block / 8) + 1);
  EXPECT_EQ(slices[0].end, block + 1) << "a byte of it, so that whoever counts finds as many lines";
  EXPECT_EQ(text.substr(slices[1].begin), "last\n");
}

}  // namespace
}  // namespace forebay
