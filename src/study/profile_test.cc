#include "forebay/profile.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "forebay/ledger.h"
#include "page/page.h"
#include "study/report/pages.h"
#include "study/study_test_support.h"
#include "study/working_folder.h"

namespace forebay {
namespace {

// Redirects scratch folders to a folder of this test, since other tests run at the same time and
// make theirs.
class OwnTemporaryFolder {
 public:
  OwnTemporaryFolder() { setenv("TMPDIR", folder_->path().c_str(), 1); }
  ~OwnTemporaryFolder() {
    if (before_) {
      setenv("TMPDIR", before_->c_str(), 1);
    } else {
      unsetenv("TMPDIR");
    }
  }
  OwnTemporaryFolder(const OwnTemporaryFolder&) = delete;
  OwnTemporaryFolder& operator=(const OwnTemporaryFolder&) = delete;

  bool empty() const { return std::filesystem::is_empty(folder_->path()); }

 private:
  std::optional<std::string> before_ =
      std::getenv("TMPDIR") ? std::optional<std::string>(std::getenv("TMPDIR")) : std::nullopt;
  Result<WorkingFolder> folder_ = WorkingFolder::make();
};

// Bytes of a full cache, after an epoch. Waits for entries on their way to disk until the cache
// stops growing.
uint64_t bytes_kept_by(const Pipeline& pipeline) {
  const auto loader = Loader::open(pipeline, {});
  for (int64_t step = 0; step < (*loader)->batches_per_epoch(); ++step) EXPECT_TRUE((*loader)->next().ok());
  const auto bytes = [&] {
    const CacheStats cache = (*loader)->stats().caches.front();
    return cache.ram.bytes + cache.disk.bytes;
  };
  for (uint64_t before = 0, looks = 0; bytes() != before && looks < 100; ++looks) {
    before = bytes();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return bytes();
}

TEST(Profile, SlowWorkIsBetterDoneOnce) {
  const OwnTemporaryFolder temporary;
  ProfileOptions options;
  options.samples = 64;
  options.loader.resources.threads = 1;
  options.budget_seconds = 4;
  const Result<Profile> found = profile(numbers(4000, 256).map(slow, {.version = "1"}).batch(4), options);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->samples, 64);
  EXPECT_EQ(found->size, 4000);
  const Strategy& best = found->strategies.front();
  EXPECT_NE(best.tier, StrategyTier::kNothing) << to_text(*found);
  EXPECT_GT(best.rate.value, found->unchanged()->rate.value);

  EXPECT_NEAR(best.bytes.value, static_cast<double>(bytes_kept_by(best.pipeline)), best.bytes.value * 0.05);
  EXPECT_GE(best.preparation_seconds.value, 4000 * 0.001 / 2);
  EXPECT_TRUE(temporary.empty()) << "nothing is left behind";
  const auto json = nlohmann::json::parse(to_json(*found));
  EXPECT_EQ(json["strategies"].size(), found->strategies.size());
  EXPECT_EQ(json["strategies"][0]["name"], best.name);
  const std::string html = to_html(profile_page(*found, "numbers"));
  for (const Strategy& strategy : found->strategies) EXPECT_NE(html.find(strategy.name), std::string::npos);
}

TEST(Profile, FewSamplesAreTriedManyTimesOver) {
  const OwnTemporaryFolder temporary;
  ProfileOptions options;
  options.samples = 64;
  options.budget_seconds = 3;
  int64_t most = 0;
  options.open = [&](const Pipeline& pipeline, const LoaderOptions& with,
                     const ChangedSteps&) -> Result<std::shared_ptr<Loader>> {
    FOREBAY_ASSIGN(std::unique_ptr<Loader> loader, Loader::open(pipeline, with));
    if (!loader->stats().caches.empty()) most = std::max(most, loader->size());
    return std::shared_ptr<Loader>(std::move(loader));
  };
  const Result<Profile> found =
      profile(numbers(20'000, 1024).map([](Sample&) { return Status(); }, {.version = "1"}).batch(16), options);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->samples, 64);
  EXPECT_GT(most, 640) << "256 KB fit into the caches of a core, and an epoch does not";
  EXPECT_LE(most, 20'000);
  for (const Strategy& strategy : found->strategies) {
    if (strategy.tier == StrategyTier::kMemory) {
      EXPECT_NEAR(strategy.bytes.value, 20'000 * 5000.0, 20'000 * 900.0) << "and bytes are those of all";
    }
  }
}

TEST(Profile, WhatIsKeptAlreadyIsLeftOut) {
  ProfileOptions options;
  options.samples = 16;
  options.budget_seconds = 0;  // only the pipeline as it is
  const Result<Profile> found = profile(numbers(4000, 256).map(slow).cache({.disk = uint64_t{0}}).batch(4), options);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  ASSERT_EQ(found->strategies.size(), 1u);
  EXPECT_EQ(found->strategies.front().tier, StrategyTier::kNothing);
  EXPECT_LT(found->strategies.front().rate.value, 40'000) << "each sample is made each time";
  EXPECT_FALSE(found->others.empty());
  EXPECT_NE(to_text(*found).find("not tried, the time was over"), std::string::npos);
}

TEST(Profile, AStopEndsItAndExceptionsOfPollPassThrough) {
  std::stop_source stop;
  ProfileOptions options;
  options.stop = stop.get_token();
  options.poll = [&] { stop.request_stop(); };
  EXPECT_EQ(profile(numbers(4096, 256).batch(4), options).status().code(), Code::kCancelled);
  ProfileOptions throwing;
  throwing.poll = [] { throw std::runtime_error("interrupted"); };
  EXPECT_THROW((void)profile(numbers(4096, 256).batch(4), throwing), std::runtime_error);
}

TEST(Profile, AnEmptyDataSetIsAnError) {
  EXPECT_EQ(profile(numbers(3, 256).batch(4, {.last = "drop"}), {}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
