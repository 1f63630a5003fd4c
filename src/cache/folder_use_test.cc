#include "cache/folder_use.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

#include "base/read_all.h"
#include "cache/budget_limits.h"
#include "cache/cache_test_support.h"
#include "cache/segment_writer.h"

// Tests the measured disk use of a folder of caches, and which places are removed if space is
// needed.

namespace forebay {
namespace {

constexpr uint64_t kAll = uint64_t{1} << 40;

std::string cache_name(int number) { return id_of(static_cast<uint64_t>(number)).to_string(); }

class FolderUseTest : public testing::Test {
 protected:
  FolderUseTest() : folder_(CacheFolder::open(scratch_.path("caches"), true).value()) {}

  /// Makes a cache with one file of that many bytes, last used at that second.
  CacheFolder make_cache(int number, uint64_t bytes, int64_t used_s = 1000) {
    CacheFolder made = folder_.open_below(cache_name(number), true).value();
    const FileDescriptor lock = made.open_file(kLockFile, O_RDWR | O_CREAT).value();
    const FileDescriptor data = made.open_file(segment_file(0, kDataEnding), O_RDWR | O_CREAT).value();
    EXPECT_TRUE(write_all(data.get(), std::string(bytes, 'x').data(), bytes, 0));
    const struct ::timespec times[2] = {{used_s, 0}, {used_s, 0}};
    EXPECT_EQ(::futimens(lock.get(), times), 0);
    return made;
  }
  std::vector<std::string> caches() const {
    std::vector<std::string> names;
    for (const CacheDiskUse& use : measure_folder(folder_).caches) names.push_back(use.name);
    return names;
  }

  ScratchFolder scratch_;
  CacheFolder folder_;
};

TEST_F(FolderUseTest, counts_whole_blocks_of_the_files_of_places_alone) {
  const uint64_t empty = measure_folder(folder_).bytes;
  make_cache(1, 10'000);
  scratch_.write("caches/somebody's file", std::string(1'000'000, 'x'));
  scratch_.write("caches/somebody's folder/file", std::string(1'000'000, 'x'));
  const FolderUse use = measure_folder(folder_);
  ASSERT_EQ(use.caches.size(), 1u);
  EXPECT_EQ(use.caches[0].name, cache_name(1));
  EXPECT_GE(use.caches[0].bytes, disk_space_of_size(10'000));
  EXPECT_GE(use.bytes, empty + use.caches[0].bytes);
  EXPECT_LT(use.bytes, empty + 100'000);
  EXPECT_EQ(use.caches[0].last_used_ns, 1000 * int64_t{1'000'000'000});
  EXPECT_FALSE(use.caches[0].in_use);
}

TEST_F(FolderUseTest, what_a_writer_may_still_take_counts_while_it_lives) {
  const CacheFolder made = make_cache(1, 100);
  const uint64_t before = measure_folder(folder_).bytes;
  {
    const auto writer = SegmentWriter::acquire(made).value();
    ASSERT_TRUE(writer->grow(1 << 20, 64 * kSegmentRowBytes));
    EXPECT_GE(measure_folder(folder_).bytes, before + (1 << 20) - 4096);
  }
  EXPECT_LE(measure_folder(folder_).bytes, before + 8192) << "its index, and no more";
}

TEST_F(FolderUseTest, room_is_made_of_those_that_were_not_used_for_longest) {
  make_cache(1, 100'000, 3000);
  make_cache(2, 100'000, 1000);
  make_cache(3, 100'000, 2000);
  const uint64_t all = measure_folder(folder_).bytes;
  EXPECT_GE(make_room(folder_, all + 50'000, 40'000), 40'000u);
  EXPECT_EQ(caches().size(), 3u) << "there was room";
  EXPECT_GE(make_room(folder_, all, 40'000), 40'000u);
  const std::vector<std::string> left = caches();
  EXPECT_EQ(left.size(), 2u);
  EXPECT_EQ(std::count(left.begin(), left.end(), cache_name(2)), 0);
  EXPECT_GE(make_room(folder_, all, 190'000), 190'000u);
  EXPECT_EQ(caches(), std::vector<std::string>{cache_name(1)});
}

TEST_F(FolderUseTest, as_many_go_as_it_takes_and_no_more) {
  for (const int number : {4, 1, 5, 2, 3}) make_cache(number, 100'000, 1000 * number);
  const uint64_t all = measure_folder(folder_).bytes;
  EXPECT_GE(make_room(folder_, all, 250'000), 250'000u) << "more than two places give";
  std::vector<std::string> left = caches();
  std::ranges::sort(left);
  std::vector<std::string> youngest = {cache_name(4), cache_name(5)};
  std::ranges::sort(youngest);
  EXPECT_EQ(left, youngest);
}

TEST_F(FolderUseTest, what_somebody_uses_stays) {
  const CacheFolder used = make_cache(1, 100'000, 1000);
  make_cache(2, 100'000, 2000);
  const FileDescriptor lock = used.open_file(kLockFile, O_RDONLY).value();
  ASSERT_TRUE(try_flock(lock.get(), LOCK_SH));
  const FolderUse use = measure_folder(folder_);
  EXPECT_TRUE(
      std::ranges::any_of(use.caches, [](const CacheDiskUse& one) { return one.name == cache_name(1) && one.in_use; }));
  EXPECT_LT(make_room(folder_, use.bytes, kAll), kAll) << "as much as there was";
  EXPECT_EQ(caches(), std::vector<std::string>{cache_name(1)});
}

TEST_F(FolderUseTest, those_who_use_a_place_are_told_by_their_process) {
  const CacheFolder used = make_cache(1, 100);
  EXPECT_EQ(cache_users(used), std::vector<int>{});
  const FileDescriptor lock = used.open_file(kLockFile, O_RDONLY).value();
  ASSERT_TRUE(try_flock(lock.get(), LOCK_SH));
  const std::vector<int> users = cache_users(used);
  if (users.empty()) GTEST_SKIP() << "the kernel does not say";
  EXPECT_EQ(users, std::vector<int>{::getpid()});
}

TEST_F(FolderUseTest, a_removal_that_was_cut_short_is_finished) {
  make_cache(1, 100'000);
  std::filesystem::rename(scratch_.path("caches/" + cache_name(1)),
                          scratch_.path("caches/" + std::string(kRemovingPrefix) + "1"));
  EXPECT_TRUE(caches().empty());
  const uint64_t before = measure_folder(folder_).bytes;
  EXPECT_GE(before, 100'000u) << "its bytes are taken all the same";
  finish_removals(folder_);
  EXPECT_LT(measure_folder(folder_).bytes, before - 90'000);
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(FolderUseTest, removing_leaves_what_is_beside_and_fails_for_what_is_not_there) {
  make_cache(1, 100);
  make_cache(2, 100);
  EXPECT_TRUE(remove_cache(folder_, cache_name(1)));
  EXPECT_FALSE(remove_cache(folder_, cache_name(1)));
  EXPECT_EQ(caches(), std::vector<std::string>{cache_name(2)});
}

TEST_F(FolderUseTest, a_link_in_a_places_stead_is_neither_counted_nor_followed) {
  scratch_.write("elsewhere/000000.data", std::string(1'000'000, 'x'));
  std::filesystem::create_directory_symlink(scratch_.path("elsewhere"), scratch_.path("caches/" + cache_name(1)));
  EXPECT_LT(measure_folder(folder_).bytes, 100'000u);
  make_room(folder_, 0, kAll);
  EXPECT_TRUE(std::filesystem::exists(scratch_.path("elsewhere/000000.data")));
}

TEST_F(FolderUseTest, a_disk_keeps_a_reserve_for_everybody_else) {
  const uint64_t limit = max_disk_budget(folder_), spare = available_disk_space(folder_);
  EXPECT_GT(limit, 0u);
  EXPECT_LE(spare, limit);
}

TEST(BudgetLimits, a_budget_beyond_the_limit_is_cut_and_that_is_said_once) {
  LoggedLines logged;
  EXPECT_EQ(clamp_budget("ram", 100, 100, "a test's host"), 100u);
  EXPECT_TRUE(logged.lines().empty());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(clamp_budget("ram", 3 << 20, 1 << 20, "a test's host"), uint64_t{1} << 20);
  ASSERT_EQ(logged.lines().size(), 1u);
  for (const char* part : {"ram=3.0 MiB", "a test's host", "1.0 MiB"})
    EXPECT_NE(logged.lines()[0].find(part), std::string::npos) << part << " in: " << logged.lines()[0];
  EXPECT_EQ(clamp_budget("disk", 3 << 20, 1 << 20, "a test's host"), uint64_t{1} << 20);
  EXPECT_EQ(logged.lines().size(), 2u) << "of another argument";
}

}  // namespace
}  // namespace forebay
