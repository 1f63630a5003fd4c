#include "format/lines/line_index_files.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "store/memory/memory_store.h"

namespace forebay {
namespace {

class LineIndexFilesTest : public testing::Test {
 protected:
  LineIndexFilesTest() {
    std::string pattern = testing::TempDir() + "linesXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    options_.index_folder = folder_ + "/below/lines";
  }
  ~LineIndexFilesTest() override { std::filesystem::remove_all(folder_); }

  MemoryStore store_;
  std::string folder_;
  OpenLinesOptions options_;
  const LineFile file_{"big.txt", LineIndexFiles::kLeastBytes, 7, {}};
  const std::vector<LineSlice> slices_ = {{0, 100, 0, 0, 3, false}, {200, 300, 5, 3, 1, true}};
};

TEST_F(LineIndexFilesTest, what_was_kept_is_found_for_the_same_file_alone) {
  const LineIndexFiles files(store_, options_);
  EXPECT_EQ(files.load(file_), std::nullopt);
  files.save(file_, slices_);
  EXPECT_EQ(files.load(file_), (LineIndex{{}, slices_}));
  EXPECT_EQ(files.load({"big.txt", LineIndexFiles::kLeastBytes, 8, {}}), std::nullopt);
  EXPECT_EQ(files.load({"big.txt", LineIndexFiles::kLeastBytes + 1, 7, {}}), std::nullopt);
  EXPECT_EQ(files.load({"other.txt", LineIndexFiles::kLeastBytes, 7, {}}), std::nullopt);
}

TEST_F(LineIndexFilesTest, the_form_of_a_file_is_kept) {
  const LineIndexFiles files(store_, options_);
  for (const TextForm& form : {TextForm{TextEncoding::kUtf16Big, false}, TextForm{TextEncoding::kUtf8, true}}) {
    LineFile file = file_;
    file.form = form;
    files.save(file, slices_);
    EXPECT_EQ(files.load(file_), (LineIndex{form, slices_}));
  }
}

TEST_F(LineIndexFilesTest, nothing_is_kept_of_small_files_or_without_a_version) {
  const LineIndexFiles files(store_, options_);
  files.save({"a", LineIndexFiles::kLeastBytes, 0, {}}, slices_);
  files.save({"a", LineIndexFiles::kLeastBytes - 1, 7, {}}, slices_);
  EXPECT_FALSE(std::filesystem::exists(options_.index_folder));
}

TEST_F(LineIndexFilesTest, slices_that_no_such_file_has_are_not_believed) {
  const LineIndexFiles files(store_, options_);
  for (const LineSlice& impossible :
       {LineSlice{10, 10, 0, 0, 1, false}, LineSlice{0, file_.size + 1, 0, 0, 1, false},
        LineSlice{0, 10, 0, 0, 11, false}, LineSlice{0, 10, -1, 0, 1, false}, LineSlice{0, 10, 0, 0, 0, false}}) {
    files.save(file_, std::vector<LineSlice>{impossible});
    EXPECT_EQ(files.load(file_), std::nullopt);
  }
}

}  // namespace
}  // namespace forebay
