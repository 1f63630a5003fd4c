#include "stream/files/followed_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "store/scratch_folder.h"
#include "stream/manual_clock_test_support.h"

namespace forebay {
namespace {

using namespace std::chrono_literals;

class FollowedFolderTest : public testing::Test {
 protected:
  FollowedFolder followed(FolderPlace after = {}) const {
    return {FilePattern::of(folder_.path("*")).value(), std::move(after), clock_};
  }
  // The keys of the next files, which may be none.
  static std::vector<std::string> next(FollowedFolder& folder, size_t most = 100) {
    std::vector<std::string> keys;
    const auto found = folder.next(most, {});
    EXPECT_TRUE(found.ok()) << found.status().to_string();
    for (const FollowedFolder::Found& one : *found) keys.push_back(one.place.key);
    return keys;
  }
  // Those of a scan now and of one after the files that it saw have settled.
  std::vector<std::string> settled(FollowedFolder& folder) {
    EXPECT_TRUE(next(folder).empty()) << "nothing has settled at once";
    settle();
    return next(folder);
  }
  // Much more than kSettle, since writing takes time that the clock does not count, and less than
  // kLongAgo.
  void settle() { clock_.advance(1min); }
  // Writes a file with a time of its own.
  void write(const std::string& name, const std::string& text = "text") const {
    const auto before = changed();
    do {
      folder_.write(name, text);
    } while (FilePattern::look_at(folder_.path(name))->changed_ns <= before);
  }
  int64_t changed() const {
    int64_t latest = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      latest = std::max(latest, FilePattern::look_at(entry.path())->changed_ns);
    return latest;
  }

  ManualClock clock_;
  const ScratchFolder folder_;
};

TEST_F(FollowedFolderTest, files_come_in_the_order_of_their_last_change_once_they_have_settled) {
  for (const std::string name : {"c", "a", "b"}) write(name);
  FollowedFolder folder = followed();
  EXPECT_EQ(settled(folder), (std::vector<std::string>{"c", "a", "b"}));
  settle();
  EXPECT_TRUE(next(folder).empty()) << "each comes once";
}

TEST_F(FollowedFolderTest, gives_at_most_as_many_as_are_wanted_and_the_rest_without_a_scan) {
  for (const std::string name : {"a", "b", "c"}) write(name);
  FollowedFolder folder = followed();
  EXPECT_TRUE(next(folder).empty());
  settle();
  EXPECT_EQ(next(folder, 2), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(folder.has_waiting());
  const auto next_scan = folder.next_scan();
  EXPECT_EQ(next(folder, 2), std::vector<std::string>{"c"});
  EXPECT_FALSE(folder.has_waiting());
  EXPECT_EQ(folder.next_scan(), next_scan);
}

TEST_F(FollowedFolderTest, scans_no_more_often_than_ten_times_a_second) {
  FollowedFolder folder = followed();
  EXPECT_TRUE(next(folder).empty());
  const auto first = folder.next_scan();
  EXPECT_GE(first - clock_.now(), 100ms);
  EXPECT_TRUE(next(folder).empty());
  EXPECT_EQ(folder.next_scan(), first) << "no scan before that time";
  clock_.advance(100ms);
  EXPECT_TRUE(next(folder).empty());
  EXPECT_GT(folder.next_scan(), first);
}

TEST_F(FollowedFolderTest, begins_behind_a_place) {
  for (const std::string name : {"a", "b", "c"}) write(name);
  const auto place = FilePattern::look_at(folder_.path("b"))->changed_ns;
  FollowedFolder behind_b = followed({place, "b"}), behind_all = followed({place + 1'000'000'000'000, "z"});
  EXPECT_EQ(settled(behind_b), std::vector<std::string>{"c"});
  EXPECT_TRUE(settled(behind_all).empty());
}

TEST_F(FollowedFolderTest, a_file_that_changed_since_the_scan_comes_in_its_new_place) {
  for (const std::string name : {"a", "b"}) write(name);
  FollowedFolder folder = followed();
  EXPECT_TRUE(next(folder).empty());
  settle();
  EXPECT_EQ(next(folder, 1), std::vector<std::string>{"a"});
  write("b", "newer");
  write("c");
  EXPECT_TRUE(next(folder).empty()) << "the old b is not given, and the new one has not settled";
  clock_.advance(100ms);
  EXPECT_EQ(settled(folder), (std::vector<std::string>{"b", "c"}));
}

TEST_F(FollowedFolderTest, a_file_that_is_gone_is_passed_over) {
  for (const std::string name : {"a", "b"}) write(name);
  FollowedFolder folder = followed();
  EXPECT_TRUE(next(folder).empty());
  settle();
  EXPECT_EQ(next(folder, 1), std::vector<std::string>{"a"});
  std::filesystem::remove(folder_.path("b"));
  EXPECT_TRUE(next(folder).empty());
}

TEST_F(FollowedFolderTest, names_of_files_that_are_being_written_are_passed_over) {
  for (const std::string name : {"a.tmp", "b.part", "c.tmpx"}) write(name);
  FollowedFolder folder = followed();
  EXPECT_EQ(settled(folder), std::vector<std::string>{"c.tmpx"});
  EXPECT_TRUE(is_unfinished_name("/x/a.tmp"));
  EXPECT_FALSE(is_unfinished_name("/x.tmp/a"));
}

TEST_F(FollowedFolderTest, files_of_the_far_past_need_no_second_scan) {
  write("a");
  clock_.advance(FollowedFolder::kLongAgo + 1min);
  FollowedFolder folder = followed();
  EXPECT_EQ(next(folder), std::vector<std::string>{"a"});
}

TEST_F(FollowedFolderTest, a_folder_that_is_missing_is_not_found_and_a_stop_is_cancelled) {
  FollowedFolder missing(FilePattern::of(folder_.path("none/*")).value(), {}, clock_);
  EXPECT_EQ(missing.next(1, {}).status().code(), Code::kNotFound);
  std::stop_source stop;
  stop.request_stop();
  FollowedFolder folder = followed();
  EXPECT_EQ(folder.next(1, stop.get_token()).status().code(), Code::kCancelled);
}

TEST_F(FollowedFolderTest, the_last_settled_file_is_the_latest_that_is_a_second_old) {
  const FilePattern pattern = FilePattern::of(folder_.path("*")).value();
  EXPECT_EQ(last_settled(pattern, clock_, {})->key, "") << "an empty folder has none";
  write("a");
  write("b.tmp");
  EXPECT_EQ(last_settled(pattern, clock_, {})->key, "");
  settle();
  const FolderPlace last = *last_settled(pattern, clock_, {});
  EXPECT_EQ(last.key, "a");
  EXPECT_EQ(last.changed_ns, FilePattern::look_at(folder_.path("a"))->changed_ns);
}

}  // namespace
}  // namespace forebay
