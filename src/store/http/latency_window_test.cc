#include "store/http/latency_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "store/http/call_budget.h"

namespace forebay {
namespace {

using Time = LatencyWindow::Time;

TEST(LatencyWindow, says_nothing_before_there_were_enough_of_that_size) {
  LatencyWindow window(0.9);
  for (size_t i = 0; i + 1 < LatencyWindow::kEnough; ++i) {
    window.add(100, Time(5));
    EXPECT_FALSE(window.recent(100));
  }
  window.add(100, Time(5));
  ASSERT_TRUE(window.recent(100));
  EXPECT_EQ(window.recent(100)->median, Time(5));
  EXPECT_FALSE(window.recent(1 << 20)) << "of other sizes nothing is known";
}

TEST(LatencyWindow, is_the_median_and_the_share_of_the_last_ones_alone) {
  std::mt19937 random(4);
  LatencyWindow window(0.95);
  std::vector<int64_t> all;
  for (int i = 0; i < 2048; ++i) {
    all.push_back(static_cast<int64_t>(random() % 1000 + (i < 1024 ? 1'000'000 : 0)));
    window.add(100, Time(all.back()));
  }
  std::vector<int64_t> last(all.end() - static_cast<std::ptrdiff_t>(LatencyWindow::kSamples), all.end());
  std::ranges::sort(last);
  EXPECT_EQ(window.recent(100)->median.count(), last[last.size() / 2]);
  EXPECT_EQ(window.recent(100)->quantile.count(), last[static_cast<size_t>(0.95 * static_cast<double>(last.size()))]);
}

TEST(LatencyWindow, keeps_sizes_apart_that_differ_by_much_and_together_that_do_not) {
  LatencyWindow window(0.5);
  for (size_t i = 0; i < LatencyWindow::kEnough; ++i) window.add(8 << 20, Time(700));
  EXPECT_EQ(window.recent(8 << 20)->median, Time(700));
  EXPECT_TRUE(window.recent((8 << 20) + 1000));
  EXPECT_FALSE(window.recent(1 << 20));
  EXPECT_FALSE(window.recent(64 << 20));
}

TEST(LatencyWindow, of_what_is_larger_than_all_classes_nothing_is_kept) {
  LatencyWindow window(0.5);
  for (size_t i = 0; i < LatencyWindow::kEnough; ++i) window.add(LatencyWindow::kLargest + 1, Time(1));
  EXPECT_FALSE(window.recent(LatencyWindow::kLargest + 1));
  EXPECT_FALSE(window.recent(LatencyWindow::kLargest));
  for (size_t i = 0; i < LatencyWindow::kEnough; ++i) window.add(LatencyWindow::kLargest, Time(1));
  EXPECT_TRUE(window.recent(LatencyWindow::kLargest));
}

TEST(LatencyWindow, a_share_of_all_is_the_longest) {
  LatencyWindow window(1.0);
  for (size_t i = 0; i < LatencyWindow::kSamples; ++i) window.add(0, Time(static_cast<int64_t>(i)));
  EXPECT_EQ(window.recent(0)->quantile, Time(static_cast<int64_t>(LatencyWindow::kSamples) - 1));
}

TEST(CallBudget, begins_full_and_earns_its_share_of_each_call) {
  CallBudget budget(0.25, 2);
  EXPECT_TRUE(budget.take() && budget.take());
  EXPECT_FALSE(budget.take());
  EXPECT_TRUE(budget.empty());
  for (int i = 0; i < 3; ++i) budget.earn();
  EXPECT_FALSE(budget.take()) << "three quarters are no token";
  budget.earn();
  EXPECT_FALSE(budget.empty());
  EXPECT_TRUE(budget.take());
}

TEST(CallBudget, never_holds_more_than_its_capacity) {
  CallBudget budget(1, 3);
  for (int i = 0; i < 100; ++i) budget.earn();
  budget.give_back();
  int taken = 0;
  while (budget.take()) ++taken;
  EXPECT_EQ(taken, 3);
  budget.give_back();
  EXPECT_TRUE(budget.take());
}

TEST(CallBudget, gives_each_token_to_one_of_many_threads) {
  CallBudget budget(0.5, 1000);
  std::atomic<int> taken{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 400; ++i) taken += budget.take() ? 1 : 0;
    });
  }
  threads.clear();
  EXPECT_EQ(taken, 1000);
}

}  // namespace
}  // namespace forebay
