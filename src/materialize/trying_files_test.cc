#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "forebay/materialize.h"
#include "pipeline/description.h"
#include "pipeline/op_spec.h"
#include "study/study_test_support.h"
#include "study/working_folder.h"

namespace forebay {
namespace {

Result<TriedFiles> tried(const Pipeline& pipeline, size_t behind, int64_t samples, const std::string& folder,
                         double most_bytes = 1e9, const ProfileOptions& options = {}) {
  const auto as_it_is = Loader::open(pipeline, {});
  if (!as_it_is.ok()) return as_it_is.status();
  return trying_files("made")({.pipeline = pipeline,
                               .as_it_is = **as_it_is,
                               .behind = behind,
                               .samples = samples,
                               .folder = folder,
                               .most_samples = 1e9,
                               .most_bytes = most_bytes,
                               .options = options});
}

TEST(TryingFiles, AFewAreWrittenInPartsAndRead) {
  const WorkingFolder scratch = *WorkingFolder::make();
  const Pipeline pipeline = numbers(1000, 24).shuffle().cast("float64", {.field = {"x"}}).batch(7);
  const Result<TriedFiles> files = tried(pipeline, 2, 100, scratch.path() + "/files");
  ASSERT_TRUE(files.ok()) << files.status().to_string();
  ASSERT_EQ(files->parts.size(), 4u);
  int64_t samples = 0;
  for (const TriedFiles::Part& part : files->parts) {
    samples += part.samples;
    EXPECT_GE(part.bytes, static_cast<uint64_t>(part.samples) * 24 * sizeof(double));
  }
  EXPECT_GT(files->seconds, 0);
  EXPECT_EQ(samples, 100);
  const auto loader = Loader::open(files->pipeline, {});
  ASSERT_TRUE(loader.ok()) << loader.status().to_string();
  EXPECT_EQ((*loader)->size(), 100);
  EXPECT_EQ(files->answer.description().steps().front().args.at("url"), "made/cast");
  EXPECT_EQ(files->command, "forebay materialize PIPELINE.json made/cast --cut cast");
  EXPECT_EQ(files->size, 1000);
  EXPECT_FALSE(files->in_store);
  EXPECT_FALSE(std::filesystem::exists("made")) << "that is for the user";
}

TEST(TryingFiles, AProfileHasThemBesideCaches) {
  ProfileOptions options;
  options.samples = 64;
  options.loader.resources.threads = 1;
  options.files = trying_files();
  const Pipeline pipeline = numbers(4000, 256).map(slow, {.version = "1"}).batch(4);
  const Result<Profile> found = profile(pipeline, options);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  const auto files = std::find_if(found->strategies.begin(), found->strategies.end(),
                                  [](const Strategy& one) { return one.name == "files behind map"; });
  ASSERT_NE(files, found->strategies.end()) << to_text(*found);
  EXPECT_GT(files->rate.value, found->unchanged()->rate.value);
  EXPECT_GE(files->preparation_seconds.value, 4000 * 0.001 / 2);
  EXPECT_GE(files->bytes.value, 4000.0 * 256 * 4);
  EXPECT_TRUE(files->bytes.low && files->preparation_seconds.low) << "figures have intervals";
  // Files are written before the first epoch, so they save time from the first epoch on.
  EXPECT_GE(*files->pays_after, 1);
}

TEST(TryingFiles, UnwritableFilesAreReported) {
  const WorkingFolder scratch = *WorkingFolder::make();
  const Pipeline pipeline = numbers(400).take(100).cast("float64", {.field = {"x"}}).batch(4);
  const Result<TriedFiles> files = tried(pipeline, 2, 16, scratch.path() + "/files");
  EXPECT_EQ(files.status().code(), Code::kInvalidArgument);
  EXPECT_NE(files.status().message().find("take"), std::string::npos) << files.status().to_string();
}

TEST(TryingFiles, WritesNoMoreThanTheRoomAllows) {
  const WorkingFolder scratch = *WorkingFolder::make();
  const Result<TriedFiles> files = tried(numbers(4000, 256).batch(4), 0, 4000, scratch.path() + "/files", 1e6);
  EXPECT_EQ(files.status().code(), Code::kOutOfBudget) << files.status().to_string();
}

TEST(TryingFiles, WhatIsCachedDoesNotMoveTheBestCut) {
  const WorkingFolder scratch = *WorkingFolder::make();
  MaterializeOptions options;
  options.cut = "best";
  const Pipeline pipeline = numbers(400, 16).cache({.disk = uint64_t{0}}).map(slow, {.version = "1"}).batch(4);
  const Result<Materialized> made = materialize(pipeline, scratch.path() + "/made", options);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_EQ(made->cut, "map");
}

}  // namespace
}  // namespace forebay
