#include "materialize/unfinished_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "materialize/local_location.h"
#include "study/working_folder.h"

namespace forebay {
namespace {

namespace fs = std::filesystem;

Buffer buffer_of(const std::string& text) {
  Buffer buffer = Buffer::allocate(text.size());
  std::copy(text.begin(), text.end(), buffer.data());
  return buffer;
}

ShardFiles files_of(int64_t shard, size_t bytes = 1000) {
  return {buffer_of(std::string(bytes, static_cast<char>('a' + shard))), buffer_of("index " + std::to_string(shard))};
}

MaterializedManifest manifest_of(int64_t size) {
  MaterializedManifest manifest;
  manifest.size = size;
  manifest.steps = R"([{"args":{},"op":"arrays"}])";
  manifest.fields.push_back({});
  manifest.fields.back().field.name = "x";
  return manifest;
}

class UnfinishedFolderOf : public testing::Test {
 protected:
  Result<UnfinishedFolder> open(int64_t size = 3) {
    return UnfinishedFolder::open(local_location(folder_),
                                  {manifest_of(7).to_json(), R"({"begins":[0,1,2,)" + std::to_string(size) + "]}"});
  }
  static std::optional<StoredShard> done(const UnfinishedFolder& folder, int64_t shard) {
    return folder.finished_shards({{shard}}).value().front();
  }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      std::ifstream file(entry.path(), std::ios::binary);
      found[fs::relative(entry.path(), folder_).string()] =
          entry.is_directory() ? "/" : std::string(std::istreambuf_iterator<char>(file), {});
    }
    return found;
  }
  size_t half_written() const {
    size_t count = 0;
    for (const auto& [name, bytes] : files()) count += name.ends_with(".writing") ? 1 : 0;
    return count;
  }

  WorkingFolder scratch_ = *WorkingFolder::make();
  const std::string folder_ = scratch_.path() + "/new/made";
  const std::shared_ptr<OutputLocation> location_ = local_location(folder_);
};

TEST_F(UnfinishedFolderOf, AWrittenShardStaysFinished) {
  {
    const Result<UnfinishedFolder> first = open();
    ASSERT_TRUE(first.ok()) << first.status().to_string();
    EXPECT_FALSE(done(*first, 0) || done(*first, 1) || done(*first, 2));
    const Result<StoredShard> put = first->put(1, 7, files_of(1));
    ASSERT_TRUE(put.ok()) << put.status().to_string();
    EXPECT_EQ(put->rows, 7);
    EXPECT_EQ(put->bytes, 1000U);
    EXPECT_EQ(done(*first, 1), *put);
  }
  const Result<UnfinishedFolder> next = open();
  ASSERT_TRUE(next.ok());
  EXPECT_TRUE(done(*next, 1));
  EXPECT_FALSE(done(*next, 0));
  EXPECT_EQ(files().at("part-00001.arrow"), std::string(1000, 'b'));
  EXPECT_EQ(half_written(), 0U);
}

TEST_F(UnfinishedFolderOf, ALaterWriterUsesThePlanOfTheFirst) {
  const std::string plan_json = open(3)->job().plan_json;
  EXPECT_EQ(open(9)->job().plan_json, plan_json);
}

TEST_F(UnfinishedFolderOf, AnotherJobIsRefusedAndChangesNothing) {
  ASSERT_TRUE(open()->put(0, 1, files_of(0)).ok());
  const auto before = files();
  const auto other = UnfinishedFolder::open(local_location(folder_), {manifest_of(5).to_json(), "{}"});
  EXPECT_EQ(other.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(files(), before);
}

TEST_F(UnfinishedFolderOf, AShardOfAnotherLengthIsNotDone) {
  ASSERT_TRUE(open()->put(0, 1, files_of(0)).ok());
  for (const char* name : {"part-00000.arrow", "_index/part-00000.arrow"}) {
    ASSERT_TRUE(open()->put(0, 1, files_of(0)).ok());
    fs::resize_file(folder_ + "/" + name, 3);
    EXPECT_FALSE(done(*open(), 0)) << name;
    fs::remove(folder_ + "/" + name);
    EXPECT_FALSE(done(*open(), 0)) << name;
  }
}

TEST_F(UnfinishedFolderOf, DamagedEntriesAndJobsAreAsIfNothingWasBegun) {
  ASSERT_TRUE(open()->put(0, 1, files_of(0)).ok());
  for (const std::string text : {"", "{", "[]", "null", R"({"rows":-1})", R"({"rows":"x"})", "\xff\xfe"}) {
    std::ofstream(folder_ + "/_unfinished/part-00000.json") << text;
    EXPECT_FALSE(done(*open(), 0)) << text;
    std::ofstream(folder_ + "/_unfinished/job.json") << text;
    EXPECT_FALSE(*UnfinishedFolder::steps_of(*location_)) << text;
    EXPECT_TRUE(open().ok()) << text;
  }
}

TEST_F(UnfinishedFolderOf, OnceFinishedThereIsAManifestAndNothingUnfinished) {
  const Result<UnfinishedFolder> folder = open();
  EXPECT_FALSE(*UnfinishedFolder::finished(*location_));
  EXPECT_EQ(*UnfinishedFolder::steps_of(*location_), manifest_of(0).steps) << "of what was begun, too";
  MaterializedManifest manifest = manifest_of(3);
  for (int64_t shard = 0; shard < 3; ++shard) manifest.shards.push_back(*folder->put(shard, 1, files_of(shard)));
  ASSERT_TRUE(folder->finish(manifest).ok());
  EXPECT_FALSE(fs::exists(folder_ + "/_unfinished"));
  EXPECT_EQ(files().size(), 3 * 3 + 3U) << "shards, indices, what they are of, two folders of those, the manifest";
  EXPECT_EQ((*UnfinishedFolder::finished(*location_))->to_json(), manifest.to_json());
  EXPECT_EQ(*UnfinishedFolder::steps_of(*location_), manifest.steps);
}

TEST_F(UnfinishedFolderOf, RemainsOfAWriterKilledAfterTheManifestAreDeleted) {
  const Result<UnfinishedFolder> folder = open();
  MaterializedManifest manifest = manifest_of(1);
  manifest.layout = MaterializedManifest::Layout::kChunks;
  manifest.shards.push_back(*folder->put(0, 1, {buffer_of("all"), {}}));
  ASSERT_TRUE(folder->finish(manifest).ok());
  const auto done = files();
  fs::create_directories(folder_ + "/_unfinished");
  fs::create_directories(folder_ + "/_index");
  std::ofstream(folder_ + "/_unfinished/0000.writing") << "half";
  ASSERT_TRUE(*UnfinishedFolder::finished(*location_));
  EXPECT_EQ(files(), done);
}

TEST_F(UnfinishedFolderOf, ADamagedManifestIsToldWithItsName) {
  ASSERT_TRUE(open().ok());
  std::ofstream(folder_ + "/_manifest.json") << "{";
  const auto found = UnfinishedFolder::finished(*location_);
  EXPECT_EQ(found.status().code(), Code::kCorrupt);
  EXPECT_NE(found.status().to_string().find("_manifest.json"), std::string::npos);
  EXPECT_FALSE(*UnfinishedFolder::steps_of(*location_));
}

TEST_F(UnfinishedFolderOf, FilesOfKilledWritersGoAndThoseOfLivingOnesStay) {
  ASSERT_TRUE(open().ok());
  std::ofstream(folder_ + "/_unfinished/dead.writing") << "half";
  const std::string living = folder_ + "/_unfinished/living.writing";
  const int held = ::open(living.c_str(), O_CREAT | O_RDWR, 0666);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  ASSERT_TRUE(open().ok());
  EXPECT_EQ(half_written(), 1U);
  EXPECT_TRUE(fs::exists(living));
  ::close(held);
  ASSERT_TRUE(open().ok());
  EXPECT_EQ(half_written(), 0U);
}

// Each process sweeps while the others have files that are not locked yet.
TEST_F(UnfinishedFolderOf, ManyThatOpenAndWriteAtOnceLoseNothing) {
  std::vector<std::thread> writers;
  std::atomic<int> failed = 0;
  for (int writer = 0; writer < 4; ++writer)
    writers.emplace_back([&] {
      for (int i = 0; i < 40; ++i) {
        const Result<UnfinishedFolder> folder = open();
        if (!folder.ok() || !folder->put(i % 3, 1, files_of(i % 3)).ok()) ++failed;
      }
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(failed, 0);
  for (int64_t shard = 0; shard < 3; ++shard) EXPECT_TRUE(done(*open(), shard));
  EXPECT_EQ(half_written(), 0U);
}

TEST_F(UnfinishedFolderOf, ShardsAreWholeWheneverAWriterIsKilled) {
  const uint64_t kills = std::getenv("FOREBAY_KILLS") ? std::strtoull(std::getenv("FOREBAY_KILLS"), nullptr, 10) : 20;
  ASSERT_TRUE(open().ok());
  for (uint64_t kill = 0; kill < kills; ++kill) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int64_t i = 0;; ++i) {
        const Result<UnfinishedFolder> folder = open();
        if (!folder.ok() || !folder->put(i % 3, 1, files_of(i % 3, 100'000)).ok()) ::_exit(1);
      }
    }
    ::usleep(static_cast<useconds_t>(kill * 7919 % 20'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it could not write";
    const Result<UnfinishedFolder> next = open();
    ASSERT_TRUE(next.ok()) << next.status().to_string();
    EXPECT_EQ(half_written(), 0U);
    const auto found = files();
    for (int64_t shard = 0; shard < 3; ++shard) {
      const std::string name = shard_file(shard);
      if (!found.contains(name)) continue;
      EXPECT_EQ(found.at(name), std::string(100'000, static_cast<char>('a' + shard)));
    }
  }
}

TEST_F(UnfinishedFolderOf, AWriteErrorSaysHowToContinue) {
  const std::string in_the_way = scratch_.path() + "/file";
  std::ofstream(in_the_way) << "x";
  const auto below_a_file =
      UnfinishedFolder::open(local_location(in_the_way + "/made"), {manifest_of(0).to_json(), "{}"});
  EXPECT_EQ(below_a_file.status().code(), Code::kUnavailable);
  EXPECT_NE(below_a_file.status().to_string().find("made"), std::string::npos);
  const Result<UnfinishedFolder> folder = open();
  fs::remove_all(folder_);
  const auto put = folder->put(0, 1, files_of(0));
  EXPECT_EQ(put.status().code(), Code::kNotFound);
  EXPECT_NE(put.status().to_string().find("run the same command again to continue"), std::string::npos);
}

TEST_F(UnfinishedFolderOf, AFullDiskIsReportedAndLeavesNoPartialFile) {
  const Result<UnfinishedFolder> folder = open();
  ASSERT_TRUE(folder->put(0, 1, files_of(0)).ok());
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2000, 2000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto put = folder->put(1, 1, files_of(1, 5000));
    ::_exit(put.status().code() == Code::kUnavailable && half_written() == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(done(*open(), 0));
  EXPECT_FALSE(done(*open(), 1));
  EXPECT_TRUE(open()->put(1, 1, files_of(1, 5000)).ok());
}

}  // namespace
}  // namespace forebay
