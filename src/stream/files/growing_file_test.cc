#include "stream/files/growing_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "store/scratch_folder.h"

namespace forebay {
namespace {

class GrowingFileTest : public testing::Test {
 protected:
  void append(std::string_view bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::app)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  GrowingFile file(uint64_t begin = 0, bool blank = true) const { return {4, path_, begin, blank}; }
  // The lines that come at once; or the error's code, in brackets.
  static std::vector<std::string> lines(GrowingFile& file, size_t records = 100, uint64_t bytes = 1 << 20) {
    std::vector<LogRecord> found;
    const Status status = file.read(records, bytes, found);
    std::vector<std::string> lines;
    for (const LogRecord& record : found)
      lines.emplace_back(reinterpret_cast<const char*>(record.payload.data()), record.payload.size());
    if (!status.ok()) lines.push_back("[" + status.to_string() + "]");
    return lines;
  }
  static bool has(const std::vector<std::string>& lines, std::string_view words) {
    return lines.size() == 1 && lines[0].find(words) != std::string::npos;
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.path("a.log");
};

using Lines = std::vector<std::string>;

TEST_F(GrowingFileTest, a_record_has_its_line_and_the_position_behind_it) {
  append("one\n\ntwo\r\n");
  GrowingFile growing = file();
  std::vector<LogRecord> records;
  ASSERT_TRUE(growing.read(10, 1 << 20, records).ok());
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].partition, 4u);
  EXPECT_EQ(records[0].offset, "4");
  EXPECT_EQ(records[0].key, path_ + ":0");
  EXPECT_EQ(records[1].payload.size(), 0u);
  EXPECT_EQ(records[2].offset, "10") << "the line end of Windows counts, and is no part of the line";
  EXPECT_EQ(records[2].payload.size(), 3u);
}

TEST_F(GrowingFileTest, blank_lines_are_records_only_where_they_mean_something) {
  append("\n \none\n\t\r\n");
  GrowingFile with = file(), without = file(0, false);
  EXPECT_EQ(lines(with), (Lines{"", " ", "one", "\t"}));
  EXPECT_EQ(lines(without), Lines{"one"});
  append("two\n");
  EXPECT_EQ(lines(without), Lines{"two"}) << "the blank lines before it were passed";
}

TEST_F(GrowingFileTest, a_line_comes_once_its_end_is_written) {
  append("one\ntw");
  GrowingFile growing = file();
  EXPECT_EQ(lines(growing), Lines{"one"});
  EXPECT_EQ(lines(growing), Lines{});
  append("o");
  EXPECT_EQ(lines(growing), Lines{});
  append("\nthree\n");
  EXPECT_EQ(lines(growing), (Lines{"two", "three"}));
}

TEST_F(GrowingFileTest, gives_no_more_lines_than_are_wanted) {
  append("1\n2\n3\n4\n5\n");
  GrowingFile growing = file();
  EXPECT_EQ(lines(growing, 2), (Lines{"1", "2"}));
  EXPECT_EQ(lines(growing, 1), Lines{"3"});
  EXPECT_EQ(lines(growing), (Lines{"4", "5"}));
}

TEST_F(GrowingFileTest, goes_on_behind_the_end_of_a_line_and_nowhere_else) {
  append("one\ntwo\n");
  GrowingFile behind_one = file(4), at_end = file(8), inside = file(5), beyond = file(9);
  EXPECT_EQ(lines(behind_one), Lines{"two"});
  EXPECT_EQ(lines(at_end), Lines{});
  EXPECT_TRUE(has(lines(inside), "Corrupt")) << lines(inside)[0];
  const Lines error = lines(beyond);
  EXPECT_TRUE(has(error, "NotFound")) << error[0];
  EXPECT_TRUE(has(error, "8 bytes, and 9 of it were read before")) << error[0];
}

TEST_F(GrowingFileTest, a_line_longer_than_any_block_comes_whole) {
  const std::string line(3 << 20, 'y');
  append("a\n" + line);
  GrowingFile growing = file();
  EXPECT_EQ(lines(growing, 100, 10), Lines{"a"});
  EXPECT_EQ(lines(growing, 100, 10), Lines{});
  append("\nb\n");
  Lines rest;
  while (rest.size() < 2) {
    const Lines more = lines(growing, 100, 10);
    ASSERT_FALSE(more.empty());
    rest.insert(rest.end(), more.begin(), more.end());
  }
  EXPECT_EQ(rest, (Lines{line, "b"}));
}

TEST_F(GrowingFileTest, a_file_that_was_cut_is_said_to_be_lost) {
  append("one\ntwo\n");
  GrowingFile growing = file();
  EXPECT_EQ(lines(growing), (Lines{"one", "two"}));
  std::filesystem::resize_file(path_, 4);
  EXPECT_TRUE(has(lines(growing), "was cut to 4 bytes, when 8 of it had been read")) << lines(growing)[0];
}

TEST_F(GrowingFileTest, the_lines_of_a_file_that_lost_its_name_come_before_the_error) {
  append("one\n");
  GrowingFile replaced = file(), removed = file();
  for (GrowingFile* growing : {&replaced, &removed}) EXPECT_EQ(lines(*growing), Lines{"one"});
  append("last\n");
  folder_.write("other", "other\n");
  std::filesystem::rename(folder_.path("other"), path_);
  EXPECT_EQ(lines(replaced), Lines{"last"});
  EXPECT_TRUE(has(lines(replaced), "was replaced by another file"));
  std::filesystem::remove(path_);
  EXPECT_EQ(lines(removed), Lines{"last"});
  EXPECT_TRUE(has(lines(removed), "is gone; all of its lines were read"));
}

TEST_F(GrowingFileTest, the_end_of_lines_is_behind_the_last_whole_one) {
  EXPECT_EQ(GrowingFile::end_of_lines(path_).status().code(), Code::kNotFound);
  append("");
  EXPECT_EQ(*GrowingFile::end_of_lines(path_), 0u);
  append("no end");
  EXPECT_EQ(*GrowingFile::end_of_lines(path_), 0u);
  append("\ntwo\nbegun");
  EXPECT_EQ(*GrowingFile::end_of_lines(path_), 11u);
  append(std::string(200'000, 'x'));
  EXPECT_EQ(*GrowingFile::end_of_lines(path_), 11u) << "found behind more than one block";
}

}  // namespace
}  // namespace forebay
