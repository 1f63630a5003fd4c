#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "forebay/ledger.h"
#include "loader/loader_test_support.h"
#include "pipeline/trace_rows.h"

namespace forebay {
namespace {

class LoaderTraceTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  static std::unique_ptr<Loader> numbers(std::optional<int64_t> epochs = {}) {
    const Pipeline pipeline = arrays({{"x", loader_test::counting(1000)}}).shuffle();
    return loader_test::opened(pipeline.map([](Sample&) { return Status(); }).batch(10),
                               {.epochs = epochs, .resources = {.threads = 3}});
  }
  /// Number of slices in that group of rows.
  size_t slices(uint32_t group) const {
    std::ifstream file(path_);
    size_t count = 0;
    for (const auto& event : nlohmann::json::parse(file)) count += event["ph"] == "X" && event["pid"] == group;
    return count;
  }

  const std::string path_ = testing::TempDir() + "forebay_loader_trace_" + std::to_string(monotonic_ns()) + ".json";
};

TEST_F(LoaderTraceTest, EveryBatchOfAnEpochIsThere) {
  const auto loader = numbers(1);
  ASSERT_TRUE(loader->begin_trace(path_).ok());
  EXPECT_EQ(loader->begin_trace(path_).code(), Code::kInvalidArgument);
  while (loader->next()->has_value()) {
  }
  ASSERT_TRUE(loader->end_trace().ok());
  EXPECT_TRUE(loader->end_trace().ok());
  EXPECT_EQ(slices(kTraceBatches), 100u);
}

TEST_F(LoaderTraceTest, BeginsAndEndsWhileOtherThreadsRun) {
  const auto loader = numbers();
  std::atomic<bool> over = false;
  std::thread looks([&] {
    while (!over) (void)loader->stats();
  });
  std::thread traces([&] {
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(loader->begin_trace(path_, 1 << 20).ok());
      std::this_thread::yield();
      EXPECT_TRUE(loader->end_trace().ok());
    }
    over = true;
  });
  while (!over) ASSERT_TRUE(loader->next().ok());
  traces.join();
  looks.join();
  EXPECT_EQ(slices(0), 0u);  // the file is complete JSON
}

TEST_F(LoaderTraceTest, CloseEndsIt) {
  const auto loader = numbers();
  ASSERT_TRUE(loader->begin_trace(path_).ok());
  ASSERT_TRUE(loader->next().ok());
  loader->close();
  EXPECT_GE(slices(kTraceThreads), 1u);
  EXPECT_EQ(loader->begin_trace(path_).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
