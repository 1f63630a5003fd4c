#include "study/report/run_history.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "forebay/ledger.h"

namespace forebay {
namespace {

Ledger ledger_at(double seconds, int64_t samples) {
  Ledger ledger;
  ledger.elapsed_seconds = seconds;
  ledger.samples = samples;
  return ledger;
}

const Curves& curves_named(const std::vector<Block>& blocks, const std::string& caption) {
  for (const Block& block : blocks) {
    const auto* curves = std::get_if<Curves>(&block);
    if (curves != nullptr && curves->caption.starts_with(caption)) return *curves;
  }
  throw std::out_of_range(caption);
}

/// A run of that many seconds, with a snapshot whenever one is due, by a clock with ticks of 0.01
/// s.
RunHistory history_of(double seconds, double samples_per_second) {
  RunHistory history;
  for (int tick = 1; tick <= static_cast<int>(seconds * 100); ++tick) {
    const double now = tick / 100.0;
    if (history.due(now)) history.record(now, ledger_at(now, std::llround(now * samples_per_second)));
  }
  return history;
}

TEST(RunHistory, one_look_is_no_curve) {
  RunHistory history;
  EXPECT_TRUE(history.curves().empty());
  history.record(1, ledger_at(1, 10));
  EXPECT_TRUE(history.curves().empty());
}

TEST(RunHistory, of_a_long_run_there_are_no_more_points_than_of_a_short_one) {
  for (const double seconds : {1.0, 60.0, 3600.0, 20'000.0}) {
    const RunHistory history = history_of(seconds, 1000);
    EXPECT_LE(history.size(), RunHistory::kMost) << seconds;
    EXPECT_GE(history.size(), seconds < 5 ? 10u : RunHistory::kMost / 4) << seconds;
  }
}

TEST(RunHistory, a_steady_rate_stays_that_rate_however_often_points_were_left_out) {
  const std::vector<Block> blocks = history_of(3600, 1000).curves();
  const Curves& samples = curves_named(blocks, "Samples");
  ASSERT_EQ(samples.series.front().values.size(), samples.seconds.size());
  for (const double rate : samples.series.front().values) EXPECT_NEAR(rate, 1000, 1);
  EXPECT_GT(samples.seconds.back(), 3500);
}

TEST(RunHistory, a_peak_of_memory_is_never_left_out) {
  RunHistory history;
  for (int tick = 1; tick <= 20'000; ++tick) {
    const double now = tick / 20.0;
    Ledger ledger = ledger_at(now, tick);
    ledger.memory_used = tick == 5 ? 900 : 100;
    if (history.due(now)) history.record(now, ledger);
  }
  const std::vector<Block> blocks = history.curves();
  double peak = 0;
  for (const double bytes : curves_named(blocks, "Memory").series.front().values) peak = std::max(peak, bytes);
  EXPECT_EQ(peak, 900);
}

TEST(RunHistory, of_the_last_minutes_the_oldest_point_goes_first) {
  RunHistory history(RunHistory::Span::kLastMinutes);
  for (int second = 1; second <= 1000; ++second) history.record(second, ledger_at(second, 10 * second));
  EXPECT_EQ(history.size(), RunHistory::kMost);
  const std::vector<Block> blocks = history.curves();
  const Curves& samples = curves_named(blocks, "Samples");
  EXPECT_EQ(samples.seconds.back(), 1000);
  EXPECT_EQ(samples.seconds.front(), 1000 - (RunHistory::kMost - 2.0)) << "points a second apart";
}

TEST(RunHistory, a_clock_that_stood_still_is_no_infinite_rate) {
  RunHistory history;
  for (const double now : {1.0, 2.0, 3.0}) history.record(now, ledger_at(1, 10));
  history.record(4, ledger_at(2, 5));  // if counters seem to fall, no rate is negative
  const std::vector<Block> blocks = history.curves();
  for (const double rate : curves_named(blocks, "Samples").series.front().values) EXPECT_EQ(rate, 0);
}

TEST(RunHistory, the_interpreters_lock_is_the_functions_of_the_user) {
  RunHistory history;
  history.record(1, ledger_at(1, 1));
  Ledger later = ledger_at(2, 2);
  later.waits.user = 0.25;
  later.waits.interpreter = 0.5;
  history.record(2, later);
  const std::vector<Block> blocks = history.curves();
  for (const Series& series : curves_named(blocks, "Share").series)
    EXPECT_EQ(series.values.front(), series.name == "own function" ? 0.75 : 0) << series.name;
}

}  // namespace
}  // namespace forebay
