#include <gtest/gtest.h>

#include <algorithm>

#include "pictures.h"

namespace forebay::tests {
namespace {

std::vector<std::string> broken_files() {
  std::vector<std::string> names;
  for (const char* folder :
       {"malformed/jpeg", "malformed/png", "malformed/webp", "malformed/bmp", "images/odd", "images/odd-go"}) {
    if (!std::filesystem::exists(shared_data() / folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(shared_data() / folder)) {
      if (entry.is_regular_file()) names.push_back(std::filesystem::canonical(entry.path()).string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

struct Told {
  std::vector<std::string> lines;
  int64_t samples = 0, steps = 0;
  std::string digest;
};

Told run(const Pipeline& pipeline, OnError policy, int threads) {
  const auto loader =
      opened(pipeline, {.seed = 4, .epochs = 1, .resources = {.threads = threads}, .errors = {.on_error = policy}});
  Told told;
  EpochDigest digest;
  while (true) {
    const Result<std::optional<Batch>> batch = loader->next();
    if (!batch.ok()) {
      told.lines.push_back(batch.status().to_string());
      EXPECT_TRUE(is_data_error(batch.status().code())) << batch.status().to_string();
      EXPECT_FALSE(batch.status().key().empty()) << batch.status().to_string();
      EXPECT_FALSE(batch.status().op().empty()) << batch.status().to_string();
      if (!is_data_error(batch.status().code())) return told;
      continue;
    }
    if (!*batch) break;
    ++told.steps;
    told.samples += (*batch)->size();
    digest.add(**batch);
  }
  for (const ErrorEntry& error : loader->errors()) {
    told.lines.push_back(error.key + ": " + error.op + ": " + error.code + ": " + error.message);
    EXPECT_FALSE(error.op.empty()) << told.lines.back();
  }
  told.digest = digest.to_string();
  return told;
}

class BrokenFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (names_.empty()) GTEST_SKIP() << "SHARED DATA ABSENT: no malformed pictures at " << shared_data();
  }
  static Pipeline pictures(std::vector<std::string> names, int64_t batch) {
    return files(std::move(names))
        .shuffle()
        .decode_image()
        .random_resized_crop(24)
        .random_flip()
        .normalize(imagenet())
        .batch(batch);
  }
  const std::vector<std::string> names_ = broken_files();
};

TEST_F(BrokenFiles, raise_names_file_and_step_and_is_the_same_on_every_run) {
  const Told first = run(pictures(names_, 1), OnError::kRaise, 1);
  std::printf("%zu files, %zu of them refused\n", names_.size(), first.lines.size());
  EXPECT_EQ(static_cast<size_t>(first.samples) + first.lines.size(), names_.size());
  EXPECT_GT(first.lines.size(), 50u);
  for (const int threads : {2, 5}) {
    const Told again = run(pictures(names_, 1), OnError::kRaise, threads);
    EXPECT_EQ(again.lines, first.lines);
    EXPECT_EQ(again.digest, first.digest);
  }
}

TEST_F(BrokenFiles, skip_and_replace_finish_with_the_same_number_of_steps) {
  const auto steps = static_cast<int64_t>((names_.size() + 15) / 16);
  for (const OnError policy : {OnError::kSkip, OnError::kReplace}) {
    const Told first = run(pictures(names_, 16), policy, 1);
    EXPECT_EQ(first.steps, steps);
    if (policy == OnError::kReplace) {
      EXPECT_EQ(static_cast<size_t>(first.samples), names_.size());
    }
    for (const int threads : {2, 5}) {
      const Told again = run(pictures(names_, 16), policy, threads);
      EXPECT_EQ(again.steps, steps);
      EXPECT_EQ(again.lines, first.lines);
      EXPECT_EQ(again.digest, first.digest);
    }
  }
}

}  // namespace

TEST(MissingFiles, a_file_that_vanishes_in_mid_epoch_is_told_and_follows_the_policy) {
  for (const OnError policy : {OnError::kRaise, OnError::kSkip, OnError::kReplace}) {
    GeneratedPictures pictures(30, 32);
    const auto loader = opened(images(pictures.path()).decode_image().resize(ImageSize{8}).batch(1),
                               {.epochs = 1, .resources = {.threads = 1}, .errors = {.on_error = policy}});
    std::filesystem::remove(pictures.path() + "/class2/1029.jpg");  // the last one by id
    int64_t samples = 0, raised = 0;
    while (true) {
      const Result<std::optional<Batch>> batch = loader->next();
      if (!batch.ok()) {
        EXPECT_EQ(batch.status().code(), Code::kNotFound);
        EXPECT_NE(batch.status().key().find("1029.jpg"), std::string::npos);
        ++raised;
        continue;
      }
      if (!*batch) break;
      samples += (*batch)->size();
    }
    EXPECT_EQ(raised, policy == OnError::kRaise ? 1 : 0);
    EXPECT_EQ(samples, policy == OnError::kReplace ? 30 : 29);
  }
}

}  // namespace forebay::tests
