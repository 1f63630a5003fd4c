#include "pipeline/run/run_trace.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "pipeline/trace_rows.h"

namespace forebay {
namespace {

class RunTraceTest : public testing::Test {
 protected:
  void SetUp() override { at_.turn_on(*Trace::create(path_, 1 << 20)); }
  void TearDown() override { std::filesystem::remove(path_); }

  /// Returns the slices as (name, µs).
  std::vector<std::pair<std::string, double>> slices() {
    EXPECT_TRUE(at_.turn_off()->finish().ok());
    std::ifstream file(path_);
    std::vector<std::pair<std::string, double>> found;
    for (const auto& event : nlohmann::json::parse(file))
      if (event["ph"] == "X") found.emplace_back(event["name"], event["dur"]);
    return found;
  }

  const std::string path_ = testing::TempDir() + "forebay_run_trace_" + std::to_string(monotonic_ns()) + ".json";
  TraceSwitch at_;
  const int64_t begun_ = monotonic_ns() + 1'000'000;
};

TEST_F(RunTraceTest, AWaitIsASliceForEachThingThatWasAwaited) {
  ConsumerTrace consumer(at_);
  consumer.begin_wait(begun_, Awaited::kStorage);
  consumer.begin_wait(begun_ + 1000, Awaited::kStorage);  // the consumer still waits for the same
  consumer.begin_wait(begun_ + 3000, Awaited::kCompute);
  consumer.end_wait(begun_ + 4000);
  consumer.end_wait(begun_ + 9000);  // the consumer was not waiting
  consumer.begin_wait(begun_ + 10000, Awaited::kCompute);
  consumer.end_wait(begun_ + 10500);
  const auto told = slices();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].first, "storage");
  EXPECT_NEAR(told[0].second, 3.0, 0.002);
  EXPECT_EQ(told[1].first, "compute");
  EXPECT_NEAR(told[1].second, 1.0, 0.002);
  EXPECT_NEAR(told[2].second, 0.5, 0.002);
}

TEST_F(RunTraceTest, ASpellIsToldPartByPart) {
  ThreadTime time;
  {
    const WorkTimer timer(time, Work::kRows, at_.get(), uint64_t{3} << 24 | 5);
    WorkTimer::change(time, Work::kEngine);
  }
  {
    const WorkTimer untold(time, Work::kPlan);
  }
  const auto told = slices();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].first, "rows");
  EXPECT_EQ(told[1].first, "engine");
}

TEST_F(RunTraceTest, SlicesLastAsLongAsIsCounted) {
  ThreadTime time;
  {
    const WorkTimer timer(time, Work::kRows, at_.get(), uint64_t{3} << 24 | 5);
    WorkTimer::change(time, Work::kEngine);
  }
  const ThreadTime::Parts counted = time.look().parts;
  const auto told = slices();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_NEAR(told[0].second, static_cast<double>(counted[static_cast<size_t>(Work::kRows)]) * 1e-3, 0.002);
  EXPECT_NEAR(told[1].second, static_cast<double>(counted[static_cast<size_t>(Work::kEngine)]) * 1e-3, 0.002);
}

TEST(AwaitedNames, AreDifferent) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kAwaited; ++i) names.push_back(name_of(static_cast<Awaited>(i)));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace forebay
