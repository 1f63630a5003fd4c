#include "base/folder_entries.h"

#include <fstream>

#include <gtest/gtest.h>

namespace forebay {
namespace {

namespace fs = std::filesystem;

class FolderEntries : public testing::Test {
 protected:
  FolderEntries() { fs::create_directories(folder_); }
  ~FolderEntries() override { fs::remove_all(folder_); }
  void write(const std::string& name, int minutes_ago) {
    std::ofstream(folder_ / name) << name;
    fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() - std::chrono::minutes(minutes_ago));
  }
  const fs::path folder_ = fs::path(testing::TempDir()) / "folder_entries";
};

TEST_F(FolderEntries, are_all_that_is_there_and_none_of_what_is_not) {
  write("a", 0);
  write("b", 0);
  fs::create_directory(folder_ / "c");
  EXPECT_EQ(entries_of(folder_).size(), 3u);
  EXPECT_TRUE(entries_of(folder_ / "nowhere").empty());
  EXPECT_TRUE(entries_of(folder_ / "a").empty()) << "no folder";
}

TEST_F(FolderEntries, the_oldest_of_ours_go) {
  for (const auto& [name, minutes] : {std::pair("1.x", 9), {"2.x", 1}, {"3.x", 5}, {"theirs", 20}})
    write(name, minutes);
  const auto ours = [](std::string_view name) { return name.ends_with(".x"); };
  remove_oldest_files(folder_, 3, ours);
  EXPECT_EQ(entries_of(folder_).size(), 4u);
  remove_oldest_files(folder_, 2, ours);
  EXPECT_FALSE(fs::exists(folder_ / "1.x"));
  EXPECT_TRUE(fs::exists(folder_ / "2.x") && fs::exists(folder_ / "3.x") && fs::exists(folder_ / "theirs"));
}

}  // namespace
}  // namespace forebay
