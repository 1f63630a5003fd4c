#include "stream/files/file_pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "store/scratch_folder.h"

namespace forebay {
namespace {

class FilePatternTest : public testing::Test {
 protected:
  FilePattern pattern(const std::string& below) const { return FilePattern::of(folder_.path(below)).value(); }
  // The keys that match, sorted, each once.
  static std::vector<std::string> keys(const FilePattern& pattern) {
    std::vector<std::string> keys;
    const Status status = pattern.scan({}, [&](SeenFile&& file) { keys.push_back(pattern.key(file.path)); });
    EXPECT_TRUE(status.ok()) << status.to_string();
    std::ranges::sort(keys);
    keys.erase(std::ranges::unique(keys).begin(), keys.end());
    return keys;
  }
  const ScratchFolder folder_;
};

TEST_F(FilePatternTest, matches_the_names_that_files_of_a_data_set_would) {
  for (const std::string name : {"a.log", "b.log", "b.txt", "sub/c.log", "sub/deep/d.log", "001.log", "002.log"})
    folder_.write(name, "x");
  EXPECT_EQ(keys(pattern("*.log")), (std::vector<std::string>{"001.log", "002.log", "a.log", "b.log"}));
  EXPECT_EQ(keys(pattern("?.log")), (std::vector<std::string>{"a.log", "b.log"}));
  EXPECT_EQ(keys(pattern("[b-z].*")), (std::vector<std::string>{"b.log", "b.txt"}));
  EXPECT_EQ(keys(pattern("{001..002}.log")).size(), 2u);
  EXPECT_EQ(keys(pattern("**/*.log")).size(), 6u);
  EXPECT_EQ(keys(pattern("sub/**")), (std::vector<std::string>{"c.log", "deep/d.log"}));
  EXPECT_EQ(keys(pattern("*/*.log")), std::vector<std::string>{"sub/c.log"});
}

TEST_F(FilePatternTest, a_key_is_the_path_below_the_last_folder_without_a_wildcard) {
  EXPECT_EQ(pattern("sub/*/x?.log").base(), folder_.path("sub/"));
  EXPECT_EQ(pattern("sub/a.log").base(), folder_.path("sub/"));
  EXPECT_EQ(pattern("sub/*/x?.log").key(folder_.path("sub/7/x1.log")), "7/x1.log");
  EXPECT_EQ(pattern("*.log").text(), folder_.path("*.log")) << "as it was given";
}

TEST_F(FilePatternTest, hidden_files_and_folders_do_not_match) {
  for (const std::string name : {".a", "sub/.b", ".git/c", "d"}) folder_.write(name, "x");
  EXPECT_EQ(keys(pattern("**")), std::vector<std::string>{"d"});
}

TEST_F(FilePatternTest, a_name_without_a_wildcard_is_one_file_or_none) {
  folder_.write("a.log", "text");
  EXPECT_EQ(keys(pattern("a.log")), std::vector<std::string>{"a.log"});
  EXPECT_TRUE(keys(pattern("b.log")).empty()) << "it may appear later";
}

TEST_F(FilePatternTest, a_file_has_its_size_and_the_time_of_its_last_change) {
  folder_.write("a", "12345");
  const SeenFile first = *FilePattern::look_at(folder_.path("a"));
  EXPECT_EQ(first.size, 5u);
  EXPECT_GT(first.changed_ns, 0);
  SeenFile later = first;
  // Times are those of a tick of the file system's clock.
  while (later.changed_ns == first.changed_ns) {
    std::filesystem::permissions(folder_.path("a"), std::filesystem::perms::owner_all);
    std::filesystem::permissions(folder_.path("a"), std::filesystem::perms::owner_read);
    later = *FilePattern::look_at(folder_.path("a"));
  }
  EXPECT_GT(later.changed_ns, first.changed_ns) << "permissions count as well";
  std::filesystem::last_write_time(folder_.path("a"),
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_GE(FilePattern::look_at(folder_.path("a"))->changed_ns, later.changed_ns) << "nobody can set it back";
}

TEST_F(FilePatternTest, a_link_is_the_file_that_it_points_to_and_as_new_as_the_newer_of_both) {
  folder_.write("target", "12345");
  std::filesystem::create_symlink(folder_.path("target"), folder_.path("link"));
  std::filesystem::create_symlink(folder_.path("nowhere"), folder_.path("dangling"));
  const SeenFile target = *FilePattern::look_at(folder_.path("target")),
                 link = *FilePattern::look_at(folder_.path("link"));
  EXPECT_EQ(link.size, 5u);
  EXPECT_GE(link.changed_ns, target.changed_ns);
  EXPECT_EQ(FilePattern::look_at(folder_.path("dangling")).status().code(), Code::kNotFound);
  EXPECT_EQ(keys(pattern("*")), (std::vector<std::string>{"link", "target"}));
}

TEST_F(FilePatternTest, what_is_no_file_is_unsupported_with_the_way_out) {
  folder_.write("sub/a", "x");
  const Status folder = FilePattern::look_at(folder_.path("sub")).status();
  EXPECT_EQ(folder.code(), Code::kUnsupported);
  EXPECT_NE(folder.message().find("for the files below it use"), std::string::npos) << folder.to_string();
  EXPECT_EQ(FilePattern::look_at("/dev/null").status().code(), Code::kUnsupported);
  EXPECT_EQ(FilePattern::look_at(folder_.path("none")).status().code(), Code::kNotFound);
}

TEST_F(FilePatternTest, a_name_that_is_not_utf8_is_named_after_all_others_were_found) {
  folder_.write("a", "x");
  folder_.write("b\xff", "x");
  folder_.write("c", "x");
  size_t found = 0;
  const Status status = pattern("*").scan({}, [&](SeenFile&&) { ++found; });
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_EQ(status.key(), folder_.path("b\xff"));
  EXPECT_EQ(found, 2u);
}

TEST_F(FilePatternTest, a_missing_folder_is_an_error_only_where_the_search_begins) {
  folder_.write("sub/a", "x");
  EXPECT_EQ(pattern("none/*").scan({}, [](SeenFile&&) {}).code(), Code::kNotFound);
  EXPECT_EQ(keys(pattern("*/a")), std::vector<std::string>{"sub/a"});
}

TEST_F(FilePatternTest, a_stop_ends_a_scan) {
  folder_.write("a", "x");
  std::stop_source stop;
  stop.request_stop();
  for (const std::string below : {"*", "a"})
    EXPECT_EQ(pattern(below).scan(stop.get_token(), [](SeenFile&&) {}).code(), Code::kCancelled) << below;
}

TEST_F(FilePatternTest, text_that_no_path_could_be_is_refused) {
  EXPECT_EQ(FilePattern::of("").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(FilePattern::of(std::string("a\0b", 3)).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
