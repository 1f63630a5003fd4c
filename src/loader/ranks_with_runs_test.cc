// Tests that ranks with different pipelines or options get an error that names the difference.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "loader/loader_test_support.h"
#include "store/scratch_folder.h"

namespace forebay {

namespace {

using loader_test::counting;

/// Two ranks that are opened together, each with its own pipeline and options.
class RanksWithRuns : public testing::Test {
 protected:
  static Pipeline numbers(int64_t rows, const char* ram = "1MiB", const char* disk = "0") {
    return arrays({{"x", counting(rows)}}).shuffle().cache({.ram = ram, .disk = disk});
  }

  /// Returns the error that rank 1 gets within a hundred batches.
  Status heard(const Pipeline& first, const Pipeline& second, LoaderOptions others = {.seed = 7}) {
    ++meetings_;
    auto leads = std::async(std::launch::async, [&] { return open(first, {.seed = 7}, 0); });
    const std::unique_ptr<Loader> follows = open(second, std::move(others), 1);
    const std::unique_ptr<Loader> leader = leads.get();
    if (!leader || !follows) return invalid_argument("a rank was not opened");
    for (int batches = 0; batches < 300; ++batches) {
      const Result<std::optional<Batch>> batch = follows->next();
      if (!batch.ok()) return batch.status();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return {};
  }

  void expect_told(const Pipeline& second, const std::string& differs, LoaderOptions others = {.seed = 7}) {
    const Status told = heard(numbers(12).batch(2), second, std::move(others));
    EXPECT_EQ(told.code(), Code::kStateMismatch) << differs;
    EXPECT_TRUE(
        told.message().starts_with("rank 1 has other settings than rank 0: " + differs + "; give all ranks the same"))
        << told.message();
  }

 private:
  std::unique_ptr<Loader> open(const Pipeline& pipeline, LoaderOptions options, int rank) const {
    options.job.rank = rank;
    options.job.world_size = 2;
    options.job.peers.addresses = {"file://" + folder_.path(std::to_string(meetings_))};
    Result<std::unique_ptr<Loader>> loader = Loader::open(pipeline, std::move(options));
    EXPECT_TRUE(loader.ok()) << loader.status().to_string();
    return loader.ok() ? std::move(*loader) : nullptr;
  }

  const ScratchFolder folder_;
  int meetings_ = 0;
};

}  // namespace

TEST_F(RanksWithRuns, are_refused_settings_that_would_duplicate_samples) {
  expect_told(numbers(12).batch(2), "seed=8 (rank 0: 7)", {.seed = 8});
  expect_told(numbers(12).batch(3), "batch size=3 (rank 0: 2)");
  expect_told(numbers(12).batch(2, {.last = "drop"}), "last=drop (rank 0: partial)");
  expect_told(arrays({{"x", counting(12)}}).cache({.ram = "1MiB", .disk = "0"}).batch(2),
              "shuffle=none (rank 0: given)");
  expect_told(numbers(12).batch(2), "shard_by=count (rank 0: locality, hosts 2)",
              {.seed = 7, .job = {.shard_by = ShardBy::kCount}});
  // For example, a host without space for a cache.
  expect_told(arrays({{"x", counting(12)}}).shuffle().batch(2), "shard_by=count (rank 0: locality, hosts 2)");
  const Status told = heard(numbers(12).batch(2), numbers(13).batch(2));
  EXPECT_NE(told.message().find("samples=13 (rank 0: 12), data set="), std::string::npos) << told.message();
}

TEST_F(RanksWithRuns, may_have_other_budgets) {
  const Status told =
      heard(numbers(12).batch(2), numbers(12, "2KiB").batch(2), {.seed = 7, .resources = {.threads = 1}});
  EXPECT_TRUE(told.ok()) << told.to_string();
}

}  // namespace forebay
