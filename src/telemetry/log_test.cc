#include "telemetry/log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace forebay {
namespace {

struct LogTest : testing::Test {
  ~LogTest() override { set_log_sink({}); }
};

TEST_F(LogTest, a_line_goes_to_the_sink_that_was_set_last) {
  std::vector<std::string> first, second;
  set_log_sink([&](const std::string& line) { first.push_back(line); });
  log_warning("one");
  set_log_sink([&](const std::string& line) { second.push_back(line); });
  log_warning(std::string("t\0wo\n", 5));
  EXPECT_EQ(first, std::vector<std::string>{"one"});
  EXPECT_EQ(second, (std::vector<std::string>{std::string("t\0wo\n", 5)})) << "as it is";
}

TEST_F(LogTest, without_a_sink_nothing_happens) {
  set_log_sink(nullptr);
  log_warning("nobody hears it");
}

// A sink may run user code, which may itself warn or set another sink.
TEST_F(LogTest, a_sink_may_log_and_may_replace_itself) {
  std::vector<std::string> lines;
  set_log_sink([&](const std::string& line) {
    lines.push_back(line);
    if (line == "outer") {
      log_warning("inner");
      set_log_sink([&](const std::string& later) { lines.push_back("later " + later); });
    }
  });
  log_warning("outer");
  log_warning("x");
  EXPECT_EQ(lines, (std::vector<std::string>{"outer", "inner", "later x"}));
}

TEST_F(LogTest, the_first_sink_writes_one_line_to_standard_error) {
  // The test runs in a fresh process, whose sink is the default.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        log_warning("the disk is full");
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "forebay: the disk is full\n");
}

TEST_F(LogTest, no_line_is_lost_while_sinks_change) {
  std::atomic<int> heard{0};
  const LogSink counting = [&](const std::string&) { ++heard; };
  set_log_sink(counting);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) log_warning("x");
    });
  }
  for (int i = 0; i < 500; ++i) set_log_sink(counting);
  threads.clear();
  EXPECT_EQ(heard, 2000);
}

}  // namespace
}  // namespace forebay
