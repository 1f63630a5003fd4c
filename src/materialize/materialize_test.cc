#include "forebay/materialize.h"

#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "pipeline/description.h"
#include "pipeline/op_spec.h"
#include "study/study_test_support.h"
#include "study/working_folder.h"

namespace forebay {
namespace {

namespace fs = std::filesystem;

// Digest of the epochs' samples, with ids, and the loader's fingerprint.
std::string digest_of(const Pipeline& pipeline, LoaderOptions options = {}) {
  options.epochs = 2;
  const auto loader = Loader::open(pipeline, options);
  if (!loader.ok()) return loader.status().to_string();
  Hasher hasher;
  for (;;) {
    const auto batch = (*loader)->next();
    if (!batch.ok()) return batch.status().to_string();
    if (!batch->has_value() && (*loader)->finished()) break;
    if (!batch->has_value()) continue;
    for (const BatchField& field : (*batch)->fields) {
      hasher.update(field.name);
      for (int64_t row = 0; row < (*batch)->size(); ++row) hasher.update(field.row(row).data(), field.row(row).size());
    }
    hasher.update((*batch)->ids.data(), (*batch)->ids.size() * sizeof(int64_t));
  }
  return hasher.digest().to_string() + (*loader)->fingerprint();
}

std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[fs::relative(entry.path(), folder).string()] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  return files;
}

class Materialize : public testing::Test {
 protected:
  WorkingFolder scratch_ = *WorkingFolder::make();
  std::string folder_ = scratch_.path() + "/made";
};

TEST_F(Materialize, SamplesAreThoseOfTheOriginalBehindEveryCut) {
  const Pipeline pipeline = numbers(1000, 24).shuffle().cast("float64", {.field = {"x"}}).batch(7);
  const std::string original = digest_of(pipeline);
  for (const size_t cut : materialize_cuts(pipeline)) {
    MaterializeOptions options;
    options.cut = pipeline.description().steps()[cut].name;
    options.shards = 3;
    const std::string folder = folder_ + options.cut;
    const Result<Materialized> made = materialize(pipeline, folder, options);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    EXPECT_TRUE(made->complete);
    EXPECT_EQ(made->samples, 1000);
    EXPECT_EQ(made->written, 1000);
    EXPECT_EQ(made->shards, 3);
    EXPECT_EQ(digest_of(made->pipeline), original) << options.cut;
    EXPECT_FALSE(fs::exists(folder + "/_unfinished"));
    // The second call has nothing to do.
    const Result<Materialized> again = materialize(pipeline, folder, options);
    ASSERT_TRUE(again.ok()) << again.status().to_string();
    EXPECT_TRUE(again->complete);
    EXPECT_EQ(again->written, 0);
    EXPECT_EQ(again->bytes, made->bytes);
  }
}

TEST_F(Materialize, APipelineWithoutAStepSaysWhatIsMissing) {
  for (const Pipeline& none : {Pipeline(), zip({{"a", Pipeline()}, {"b", Pipeline()}})})
    EXPECT_EQ(materialize(none, folder_, {}).status().code(), Code::kInvalidArgument);
}

TEST_F(Materialize, RanksTogetherWriteWhatOneWrites) {
  const Pipeline pipeline = numbers(500, 3).batch(7);
  MaterializeOptions options;
  options.cut = "last";
  options.shards = 10;
  ASSERT_TRUE(materialize(pipeline, folder_, options).ok());
  options.world_size = 3;
  for (const int64_t rank : {2, 0, 1}) {
    options.rank = rank;
    const Result<Materialized> made = materialize(pipeline, folder_ + "-3", options);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    EXPECT_EQ(made->complete, rank == 1);
    EXPECT_LT(made->written, 500);
  }
  EXPECT_EQ(files_in(folder_), files_in(folder_ + "-3"));
}

TEST_F(Materialize, FinishedDataHasTheSamplesOfItsOwnShards) {
  MaterializeOptions options;
  options.cut = "last";
  options.shards = 3;
  ASSERT_TRUE(materialize(numbers(100, 3).batch(7), folder_, options).ok());
  const auto finished = Materializer::open(numbers(100, 3).batch(7), folder_, options);
  ASSERT_TRUE(finished.ok()) << finished.status().to_string();
  EXPECT_EQ((*finished)->shards(), 3);
  EXPECT_TRUE((*finished)->left().empty());
  EXPECT_EQ((*finished)->samples({0, 1, 2}), 100);
  EXPECT_GT((*finished)->samples({1}), 0);
}

TEST_F(Materialize, OtherDataAtTheLocationIsNotOverwritten) {
  MaterializeOptions options;
  options.cut = "last";
  ASSERT_TRUE(materialize(numbers(50, 3).batch(7), folder_, options).ok());
  const auto before = files_in(folder_);
  for (const Pipeline& other : {numbers(51, 3).batch(7), numbers(50, 3).cast("int32", {.field = {"x"}}).batch(7)})
    EXPECT_EQ(materialize(other, folder_, options).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(files_in(folder_), before);
}

}  // namespace
}  // namespace forebay
