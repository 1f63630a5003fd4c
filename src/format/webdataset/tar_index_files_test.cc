#include "format/webdataset/tar_index_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "store/scratch_folder.h"

namespace forebay {
namespace {

namespace fs = std::filesystem;

TarIndex small_index() {
  TarIndex index;
  index.extensions = {"jpg"};
  index.samples = {{0, 0, 3}};
  index.files = {{0, 1, 17}};
  index.end = 1024;
  return index;
}

class TarIndexFilesTest : public testing::Test {
 protected:
  ScratchFolder scratch_;
  const TarIndexFiles kept_{scratch_.path() + "/caches/tar_indexes"};
  const TarIndexFiles::Shard shard_{"s3://bucket/a.tar", 4096, 7};
};

TEST_F(TarIndexFilesTest, are_found_again) {
  EXPECT_FALSE(kept_.load(shard_));
  kept_.save(shard_, small_index());
  const auto found = kept_.load(shard_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->to_bytes(), small_index().to_bytes());
  EXPECT_EQ(fs::status(kept_.path(shard_)).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(TarIndexFilesTest, beside_their_shards_go_with_the_folder_but_not_with_another_shard) {
  const TarIndexFiles beside("", TarIndexFiles::Place::kBesideShards);
  const TarIndexFiles::Shard here{scratch_.path() + "/a.tar", 4096, 7}, other{scratch_.path() + "/b.tar", 4096, 7};
  EXPECT_FALSE(beside.load(here));
  beside.save(here, small_index());
  EXPECT_EQ(beside.path(here), here.name + ".tarindex");
  ASSERT_TRUE(beside.load(here));
  EXPECT_FALSE(beside.load({here.name, 4096, 8}));
  fs::rename(beside.path(here), beside.path(other));
  EXPECT_FALSE(beside.load(other));
  EXPECT_FALSE(beside.load(here));
}

TEST_F(TarIndexFilesTest, of_another_release_are_made_anew) {
  const TarIndexFiles beside("", TarIndexFiles::Place::kBesideShards);
  const TarIndexFiles::Shard here{scratch_.path() + "/a.tar", 4096, 7};
  const IndexKind kind = {"tarindex", TarIndexFiles::kMostFileBytes, TarIndexFiles::kMostFiles};
  ASSERT_TRUE(save_index_file(kind, beside.path(here), "4096 7\na.tar\n", small_index().to_bytes(), 0644));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(beside.load(here));
  beside.log_problems();
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("of another release: they were made anew"), std::string::npos) << told;
  EXPECT_EQ(told.find("damaged"), std::string::npos) << told;
}

TEST_F(TarIndexFilesTest, of_a_shard_that_has_changed_are_not_found) {
  kept_.save(shard_, small_index());
  EXPECT_FALSE(kept_.load({shard_.name, shard_.size, shard_.version + 1}));
  EXPECT_FALSE(kept_.load({shard_.name, shard_.size + 512, shard_.version}));
  EXPECT_FALSE(kept_.load({"s3://bucket/b.tar", shard_.size, shard_.version}));
}

TEST_F(TarIndexFilesTest, of_a_shard_without_a_version_are_not_kept) {
  kept_.save({"a.tar", 4096, 0}, small_index());
  EXPECT_FALSE(kept_.load({"a.tar", 4096, 0}));
  EXPECT_FALSE(fs::exists(scratch_.path() + "/caches"));
}

TEST_F(TarIndexFilesTest, that_cannot_be_written_are_no_failure) {
  std::ofstream(scratch_.path() + "/caches") << "a file";
  kept_.save(shard_, small_index());
  EXPECT_FALSE(kept_.load(shard_));
  const TarIndexFiles none("");
  none.save(shard_, small_index());
  EXPECT_FALSE(none.load(shard_));
}

}  // namespace
}  // namespace forebay
