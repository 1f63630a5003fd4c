#include "cli/files.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace forebay {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "forebay_files_test";
};

TEST_F(Files, AreReadBackAndReplacedAndLeaveNothingBeside) {
  const std::string path = folder_ / "state";
  for (const std::string& text : {std::string("one\0two", 7), std::string(), std::string(100'000, 'x')}) {
    ASSERT_TRUE(write_file(path, text).ok());
    const Result<std::string> read = read_text(path);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(*read, text);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Files, AFailedWriteLeavesTheOldFile) {
  const std::string path = folder_ / "taken";
  std::filesystem::create_directory(path);  // a file cannot take a folder's name
  const Status status = write_file(path, "text");
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.key(), path);
  EXPECT_TRUE(std::filesystem::is_directory(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST_F(Files, AMissingFileIsNotFoundByName) {
  const Status status = read_text(folder_ / "nothing").status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.key(), folder_ / "nothing");
}

TEST_F(Files, AFolderIsNoText) { EXPECT_FALSE(read_text(folder_).ok()); }

TEST_F(Files, WhatIsTooLargeForATextIsRefused) {
  const std::string path = folder_ / "large";
  ASSERT_TRUE(write_file(path, "").ok());
  std::filesystem::resize_file(path, (uint64_t{64} << 20) + 1);
  EXPECT_EQ(read_text(path).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
