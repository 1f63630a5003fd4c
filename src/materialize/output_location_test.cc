#include "materialize/unfinished_folder.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "study/working_folder.h"

namespace forebay {
namespace {

namespace fs = std::filesystem;

Buffer location_bytes(std::string_view text) {
  Buffer bytes = Buffer::allocate(text.size());
  std::ranges::copy(text, bytes.data());
  return bytes;
}

class OutputLocationTest : public testing::Test {
 protected:
  Result<UnfinishedFolder> open(const std::string& steps = "[1]", const std::string& plan_json = "{\"b\":[0,2]}") {
    return UnfinishedFolder::open(location_, {manifest({}, steps).to_json(), plan_json});
  }
  static MaterializedManifest manifest(const std::vector<StoredShard>& shards, const std::string& steps = "[]") {
    MaterializedManifest manifest;
    manifest.steps = steps;
    manifest.fields.resize(1);
    manifest.fields.front().field.name = "x";
    manifest.shards = shards;
    for (const StoredShard& shard : shards) manifest.size += shard.rows;
    return manifest;
  }

  WorkingFolder scratch_ = *WorkingFolder::make();
  std::string folder_ = scratch_.path() + "/made";
  std::shared_ptr<OutputLocation> location_ = *OutputLocation::open(folder_, {}, {});
};

TEST_F(OutputLocationTest, AShardIsDoneOnceItsFilesAndItsEntryAreThere) {
  const UnfinishedFolder folder = open().value();
  const std::vector<int64_t> shards = {0, 1, 2};
  EXPECT_EQ(folder.finished_shards(shards).value(), std::vector<std::optional<StoredShard>>(3));
  const StoredShard stored = folder.put(1, 5, {location_bytes("data"), location_bytes("index")}).value();
  const auto done = folder.finished_shards(shards).value();
  EXPECT_EQ(done[1], stored);
  EXPECT_FALSE(done[0] || done[2]);
  fs::resize_file(folder_ + "/part-00001.arrow", 3);
  EXPECT_FALSE(folder.finished_shards(shards).value()[1]) << "the file is another";
}

TEST_F(OutputLocationTest, TheFirstWriterDecidesThePlan) {
  constexpr int kWriters = 8;
  std::vector<std::string> plan_json(kWriters);
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i)
    writers.emplace_back([&, i] {
      const auto opened = open("[1]", "{\"b\":" + std::to_string(i) + "}");
      plan_json[static_cast<size_t>(i)] = opened.ok() ? opened->job().plan_json : opened.status().to_string();
    });
  for (std::thread& writer : writers) writer.join();
  for (const std::string& one : plan_json) EXPECT_EQ(one, plan_json[0]);
  EXPECT_EQ(plan_json[0].substr(0, 5), "{\"b\":");
}

TEST_F(OutputLocationTest, AnotherJobIsRefusedAndADamagedOneRestarted) {
  ASSERT_TRUE(open().ok());
  EXPECT_EQ(open("[2]").status().code(), Code::kInvalidArgument);
  std::ofstream(folder_ + "/_unfinished/job.json") << "{\"wha";
  EXPECT_TRUE(open("[2]").ok());
}

TEST_F(OutputLocationTest, RemainsOfKilledWritersAreDeletedAndActiveWritesStay) {
  ASSERT_TRUE(open().ok());
  std::ofstream(folder_ + "/_unfinished/0123.writing") << "half";
  ASSERT_TRUE(open().ok());
  EXPECT_FALSE(fs::exists(folder_ + "/_unfinished/0123.writing"));
}

TEST_F(OutputLocationTest, OnceFinishedNothingElseIsLeft) {
  const UnfinishedFolder folder = open().value();
  EXPECT_FALSE(UnfinishedFolder::finished(*location_).value());
  const StoredShard stored = folder.put(0, 5, {location_bytes("data"), {}}).value();
  ASSERT_TRUE(folder.finish(manifest({stored})).ok());
  EXPECT_EQ(UnfinishedFolder::finished(*location_).value()->shards, std::vector<StoredShard>{stored});
  EXPECT_EQ(UnfinishedFolder::steps_of(*location_).value(), "[]");
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder_)) left.push_back(entry.path().filename().string());
  std::ranges::sort(left);
  EXPECT_EQ(left, (std::vector<std::string>{"_identities", "_manifest.json", "part-00000.arrow"}));
}

TEST(OutputLocations, NameUnsupportedUrls) {
  for (const char* url : {"https://host/x", "http://host/x"})
    EXPECT_EQ(OutputLocation::open(url, {}, {}).status().code(), Code::kUnsupported) << url;
  EXPECT_EQ(OutputLocation::open("", {}, {}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(OutputLocation::open("s3://ab/x", {}, {}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(OutputLocation::open("/proc/1/none", {}, {}).value()->make().code(), Code::kNotFound);
}

}  // namespace
}  // namespace forebay
