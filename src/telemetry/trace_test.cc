#include "telemetry/trace.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "telemetry/log.h"

namespace forebay {
namespace {

using Json = nlohmann::json;

class TraceTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  std::shared_ptr<Trace> trace(uint64_t most_bytes = 1 << 20) { return *Trace::create(path_, most_bytes); }
  std::string text() const {
    std::ostringstream all;
    all << std::ifstream(path_).rdbuf();
    return all.str();
  }
  /// Events of one kind.
  std::vector<Json> events(const std::string& ph) const {
    std::vector<Json> found;
    for (const Json& event : Json::parse(text()))
      if (event["ph"] == ph) found.push_back(event);
    return found;
  }

  const std::string path_ = testing::TempDir() + "forebay_trace_" + std::to_string(monotonic_ns()) + ".json";
};

/// The lines that are logged meanwhile.
class Logged {
 public:
  Logged() {
    set_log_sink([this](const std::string& line) { lines.push_back(line); });
  }
  ~Logged() { set_log_sink(nullptr); }
  std::vector<std::string> lines;
};

TEST_F(TraceTest, WhatIsWrittenIsJsonThatHasIt) {
  const auto written = trace();
  const int64_t now = monotonic_ns();
  written->slice({2, 7}, "decode", now + 1000, now + 3500, {{"sample", int64_t{12}}, {"key", "a/b.jpg"}});
  written->counter(3, "memory", now, {{"pool", int64_t{5}}});
  ASSERT_TRUE(written->finish().ok());
  const Json slice = events("X").at(0);
  EXPECT_EQ(slice["name"], "decode");
  EXPECT_EQ(slice["pid"], 2);
  EXPECT_EQ(slice["tid"], 7);
  EXPECT_NEAR(slice["dur"].get<double>(), 2.5, 0.002);
  EXPECT_EQ(slice["args"], Json({{"sample", 12}, {"key", "a/b.jpg"}}));
  EXPECT_EQ(events("C").at(0)["args"], Json({{"pool", 5}}));
}

TEST_F(TraceTest, NamesMayHoldAnything) {
  const auto written = trace();
  const int64_t now = monotonic_ns();
  written->slice({1, 1}, "a\"b\\\n", now, now + 1, {{"key", "\xff\x01"}});
  ASSERT_TRUE(written->finish().ok());
  EXPECT_EQ(events("X").at(0)["name"], "a\"b\\\n");
  EXPECT_EQ(events("X").at(0)["args"]["key"], "\xef\xbf\xbd\x01");
}

TEST_F(TraceTest, WhatBeganBeforeBeginsWithTheTrace) {
  const int64_t before = monotonic_ns();
  const auto written = trace();
  written->slice({1, 1}, "older", before - 2000, before - 1000);
  written->slice({1, 1}, "begun before", before - 1'000'000'000, monotonic_ns());
  ASSERT_TRUE(written->finish().ok());
  ASSERT_EQ(events("X").size(), 1u);
  EXPECT_EQ(events("X")[0]["ts"], 0.0);
  EXPECT_LT(events("X")[0]["dur"].get<double>(), 999'999.0);
}

TEST_F(TraceTest, NeverGrowsBeyondItsLimitAndSaysOnceThatItIsFull) {
  constexpr uint64_t kMost = Trace::kLeastBytes;
  const Logged log;
  const auto written = trace(kMost);
  const int64_t now = monotonic_ns();
  for (int i = 0; i < 1000; ++i) written->slice({1, 1}, "slice", now + i, now + i + 1);
  ASSERT_TRUE(written->finish().ok());
  EXPECT_LE(std::filesystem::file_size(path_), kMost);
  EXPECT_EQ(log.lines.size(), 1u);
  EXPECT_NE(log.lines.at(0).find(path_), std::string::npos);
  const auto kept = static_cast<int64_t>(events("X").size());
  EXPECT_GT(kept, 10);
  const Json end = Json::parse(text()).back();
  EXPECT_EQ(end["args"]["events_left_out"], 1000 - kept);
}

TEST_F(TraceTest, RefusesALimitThatHoldsNothingAndAPlaceThatCannotBeWritten) {
  EXPECT_EQ(Trace::create(path_, Trace::kLeastBytes - 1).status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(path_));
  const Status status = Trace::create("/nonexistent/trace.json", 1 << 20).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.to_string().find("/nonexistent/trace.json"), std::string::npos);
}

TEST_F(TraceTest, AFullDiskIsTold) {
  auto written = Trace::create("/dev/full", 1 << 20);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ((*written)->finish().code(), Code::kUnavailable);
  EXPECT_EQ((*written)->finish().code(), Code::kUnavailable);
}

TEST_F(TraceTest, WhatComesAfterTheEndIsLeftOut) {
  const auto written = trace();
  ASSERT_TRUE(written->finish().ok());
  const std::string before = text();
  written->slice({1, 1}, "late", monotonic_ns(), monotonic_ns());
  EXPECT_TRUE(written->finish().ok());
  EXPECT_EQ(text(), before);
}

TEST_F(TraceTest, LanesHoldNothingThatOverlaps) {
  const auto written = trace();
  const auto lane = [&](int64_t begin, int64_t end) { return written->lane(5, "read", begin, end).row; };
  EXPECT_EQ(lane(0, 10), 1u);
  EXPECT_EQ(lane(5, 15), 2u);
  EXPECT_EQ(lane(10, 20), 1u);  // intervals that only touch do not overlap
  EXPECT_EQ(lane(12, 13), 3u);
  EXPECT_EQ(lane(20, 21), 1u);
  ASSERT_TRUE(written->finish().ok());
  std::vector<std::string> names;
  for (const Json& event : events("M"))
    if (event["name"] == "thread_name") names.push_back(event["args"]["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"read 1", "read 2", "read 3"}));
}

TEST_F(TraceTest, EachThreadHasARowOfItsOwnInEachGroup) {
  const auto written = trace();
  const auto row = [&](uint32_t group) { return written->row_of_this_thread(group, "thread").row; };
  EXPECT_EQ(row(1), 1u);
  EXPECT_EQ(row(2), 1u);
  std::thread([&] {
    EXPECT_EQ(row(2), 2u);
    EXPECT_EQ(row(1), 2u);
  }).join();
  EXPECT_EQ(row(1), 1u);
}

TEST_F(TraceTest, ManyThreadsWriteWholeEvents) {
  const auto written = trace(8 << 20);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 5000; ++n)
        written->slice(written->row_of_this_thread(1, "thread"), "slice", monotonic_ns(), monotonic_ns());
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(written->finish().ok());
  EXPECT_EQ(events("X").size(), 20000u);
}

TEST_F(TraceTest, ASwitchHasOneTraceAtATime) {
  TraceSwitch at;
  EXPECT_EQ(at.get(), nullptr);
  const auto first = trace();
  EXPECT_TRUE(at.turn_on(first));
  EXPECT_EQ(at.get(), first);
  EXPECT_FALSE(at.turn_on(first));
  EXPECT_EQ(at.turn_off(), first);
  EXPECT_EQ(at.get(), nullptr);
  EXPECT_EQ(at.turn_off(), nullptr);
}

}  // namespace
}  // namespace forebay
