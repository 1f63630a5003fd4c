#include "materialize/update_folder.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "format/materialized/manifest.h"
#include "study/working_folder.h"

namespace forebay {
namespace {

namespace fs = std::filesystem;

class UpdateFolder : public testing::Test {
 protected:
  // Makes a finished folder of that many shards, whose files contain `what`.
  static void finish(const fs::path& folder, int64_t shards, const std::string& what) {
    MaterializedManifest manifest;
    manifest.steps = "[]", manifest.size = shards;
    manifest.fields.push_back({});
    for (int64_t shard = 0; shard < shards; ++shard) {
      for (const std::string& name : {shard_file(shard), index_file(shard), identities_file(shard)}) {
        fs::create_directories((folder / name).parent_path());
        std::ofstream(folder / name) << what;
      }
      manifest.shards.push_back({1, what.size(), 0, {}, {}});
    }
    std::ofstream(folder / kManifestName) << manifest.to_json();
  }
  static std::map<std::string, std::string> files(const fs::path& folder) {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      std::ifstream file(entry.path());
      found[fs::relative(entry.path(), folder).string()] =
          entry.is_directory() ? "/" : std::string(std::istreambuf_iterator<char>(file), {});
    }
    return found;
  }

  WorkingFolder scratch_ = *WorkingFolder::make();
  const std::string folder_ = scratch_.path() + "/made";
  const std::string update_ = update_folder(folder_);
};

TEST_F(UpdateFolder, AFinishedUpdateReplacesTheOldData) {
  for (const int64_t before : {1, 3, 7}) {
    finish(folder_, before, "old");
    std::ofstream(folder_ + "/mine.txt") << "a file of the user's";
    finish(update_, 3, "new");
    ASSERT_TRUE(publish_folder_update(folder_).ok());
    fs::remove(folder_ + "/mine.txt");
    finish(scratch_.path() + "/scratch", 3, "new");
    EXPECT_EQ(files(folder_), files(scratch_.path() + "/scratch"));
  }
}

TEST_F(UpdateFolder, AnUnfinishedUpdateChangesNothing) {
  finish(folder_, 2, "old");
  fs::create_directories(update_ + "/_unfinished");
  std::ofstream(update_ + "/part-00000.arrow") << "new";
  const auto before = files(folder_);
  ASSERT_TRUE(publish_folder_update(folder_).ok());
  EXPECT_EQ(files(folder_), before);
  EXPECT_TRUE(publish_folder_update(scratch_.path() + "/not there").ok());
}

// Another rank is about to write the first shard of the update.
TEST_F(UpdateFolder, FoldersOfABegunUpdateStayWhileEmpty) {
  finish(folder_, 2, "old");
  for (const char* part : {"_unfinished", "_index", "_identities"}) fs::create_directories(fs::path(update_) / part);
  const auto before = files(folder_);
  ASSERT_TRUE(publish_folder_update(folder_).ok());
  EXPECT_EQ(files(folder_), before);
}

// The folder is as left by a process that was killed after each of its moves.
TEST_F(UpdateFolder, AKilledUpdateIsCompletedByTheNextCaller) {
  finish(scratch_.path() + "/scratch", 3, "new");
  const std::vector<std::string> moves{"part-00001.arrow", "_index/part-00000.arrow", "_identities/part-00002.arrow"};
  for (size_t moved = 0; moved <= moves.size(); ++moved) {
    fs::remove_all(folder_);
    finish(folder_, 5, "old");
    finish(update_, 3, "new");
    fs::remove(folder_ + "/_manifest.json");
    for (size_t i = 0; i < moved; ++i) fs::rename(fs::path(update_) / moves[i], fs::path(folder_) / moves[i]);
    ASSERT_TRUE(publish_folder_update(folder_).ok());
    EXPECT_EQ(files(folder_), files(scratch_.path() + "/scratch")) << moved;
  }
  fs::create_directories(update_ + "/_index");  // killed before the last folder was removed
  ASSERT_TRUE(publish_folder_update(folder_).ok());
  EXPECT_EQ(files(folder_), files(scratch_.path() + "/scratch"));
}

TEST_F(UpdateFolder, SeveralMayDoItAtOnce) {
  finish(folder_, 9, "old");
  finish(update_, 8, "new");
  std::vector<std::thread> movers;
  for (int i = 0; i < 4; ++i) movers.emplace_back([&] { EXPECT_TRUE(publish_folder_update(folder_).ok()); });
  for (std::thread& mover : movers) mover.join();
  finish(scratch_.path() + "/scratch", 8, "new");
  EXPECT_EQ(files(folder_), files(scratch_.path() + "/scratch"));
}

TEST_F(UpdateFolder, DeletingAnUnfinishedUpdateKeepsFinishedData) {
  finish(folder_, 2, "old");
  const auto before = files(folder_);
  fs::create_directories(update_ + "/_unfinished");
  fs::create_directories(folder_ + "/_unfinished");
  delete_unfinished(folder_);
  EXPECT_EQ(files(folder_), before);
}

// One thread checks for leftovers while another begins an update.
TEST_F(UpdateFolder, ABegunUpdateIsNotDeletedAsARemain) {
  finish(folder_, 2, "old");
  for (int round = 0; round < 300; ++round) {
    fs::remove_all(update_);
    fs::create_directories(update_ + "/_index");
    std::jthread settling([&] { EXPECT_TRUE(publish_folder_update(folder_).ok()); });
    ASSERT_TRUE(begin_update(folder_).ok());
    settling.join();
    for (const char* part : {"_unfinished", "_index", "_identities"})
      ASSERT_TRUE(fs::is_directory(fs::path(update_) / part)) << part << " in round " << round;
  }
}

}  // namespace
}  // namespace forebay
