#include "store/timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <memory>
#include <random>
#include <vector>

namespace forebay {
namespace {

using namespace std::chrono_literals;

TEST(ManualTimer, runs_what_is_due_in_order_of_time_and_then_of_coming) {
  std::mt19937 random(1);
  Timer timer(true);
  std::vector<std::pair<int64_t, int>> expected, ran;
  for (int i = 0; i < 300; ++i) {
    const int64_t when = static_cast<int64_t>(random() % 20);
    expected.emplace_back(when, i);
    ASSERT_TRUE(timer.at(Timer::Time(when), [&ran, when, i] { ran.emplace_back(when, i); }));
  }
  std::ranges::sort(expected);
  timer.advance(Timer::Time(9));
  for (const auto& [when, order] : ran) EXPECT_LE(when, 9);
  timer.advance(Timer::Time(10));
  EXPECT_EQ(ran, expected);
}

TEST(ManualTimer, stands_still_but_for_advance) {
  Timer timer(true);
  EXPECT_EQ(timer.now(), 0ns);
  bool ran = false;
  timer.at(5ns, [&] { ran = true; });
  timer.advance(4ns);
  EXPECT_FALSE(ran);
  EXPECT_EQ(timer.now(), 4ns);
  timer.advance(1ns);
  EXPECT_TRUE(ran);
  EXPECT_EQ(timer.now(), 5ns);
}

TEST(ManualTimer, shows_each_function_the_time_that_it_was_set_for) {
  Timer timer(true);
  std::vector<Timer::Time> seen;
  for (const auto when : {7ns, 3ns, 5ns}) timer.at(when, [&] { seen.push_back(timer.now()); });
  timer.advance(100ns);
  EXPECT_EQ(seen, (std::vector<Timer::Time>{3ns, 5ns, 7ns}));
  EXPECT_EQ(timer.now(), 100ns);
}

TEST(ManualTimer, what_is_set_while_it_advances_runs_in_the_same_go_if_it_is_due) {
  Timer timer(true);
  std::vector<int> ran;
  timer.at(1ns, [&] {
    ran.push_back(1);
    timer.at(2ns, [&] { ran.push_back(2); });
    timer.at(0ns, [&] { ran.push_back(0); });  // due in the past: runs now
    timer.at(50ns, [&] { ran.push_back(50); });
  });
  timer.advance(10ns);
  EXPECT_EQ(ran, (std::vector<int>{1, 0, 2}));
}

TEST(ManualTimer, may_be_closed_by_what_it_runs_and_drops_the_rest) {
  Timer timer(true);
  int ran = 0;
  timer.at(1ns, [&] {
    ++ran;
    timer.close();
  });
  timer.at(2ns, [&] { ++ran; });
  timer.advance(10ns);
  EXPECT_EQ(ran, 1);
  EXPECT_FALSE(timer.at(3ns, [] {}));
}

TEST(ManualTimer, may_be_ended_by_what_it_runs) {
  auto timer = std::make_unique<Timer>(true);
  bool ended = false;
  timer->at(1ns, [&] {
    timer.reset();
    ended = true;
  });
  timer->advance(1ns);
  EXPECT_TRUE(ended);
}

class TimerKinds : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Both, TimerKinds, testing::Bool(),
                         [](const auto& param) { return std::string(param.param ? "manual" : "thread"); });

TEST_P(TimerKinds, what_a_dropped_function_holds_is_let_go_by_close) {
  const auto held = std::make_shared<int>(1);
  Timer timer(GetParam());
  ASSERT_TRUE(timer.at(std::chrono::hours(1), [held] {}));
  EXPECT_EQ(held.use_count(), 2);
  timer.close();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(timer.at(0ns, [held] {})) << "closed for good";
  EXPECT_EQ(held.use_count(), 1);
  timer.close();  // a second call has no effect
}

TEST(ThreadTimer, runs_the_nearest_first_though_it_came_last) {
  Timer timer(false);
  std::promise<int> first;
  std::atomic<bool> answered{false};
  const auto answer = [&](int which) {
    if (!answered.exchange(true)) first.set_value(which);
  };
  timer.at(std::chrono::hours(1), [&] { answer(1); });
  timer.at(timer.now(), [&] { answer(2); });
  EXPECT_EQ(first.get_future().get(), 2);
}

TEST(ThreadTimer, runs_nothing_before_its_time) {
  Timer timer(false);
  std::promise<Timer::Time> ran;
  const Timer::Time when = timer.now() + 2ms;
  timer.at(when, [&] { ran.set_value(timer.now()); });
  EXPECT_GE(ran.get_future().get(), when);
}

TEST(ThreadTimer, takes_functions_from_many_threads_and_runs_each_once) {
  Timer timer(false);
  constexpr int kThreads = 4, kEach = 200;
  std::vector<std::atomic<int>> ran(kThreads * kEach);
  std::atomic<int> left{kThreads * kEach};
  std::promise<void> all;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        timer.at(timer.now(), [&, index = t * kEach + i] {
          ++ran[index];
          if (--left == 0) all.set_value();
        });
      }
    });
  }
  all.get_future().get();
  for (const auto& count : ran) EXPECT_EQ(count, 1);
}

TEST(ThreadTimer, takes_no_signals_of_the_program) {
  Timer timer(false);
  std::promise<int> blocked;
  timer.at(0ns, [&] {
    sigset_t mask;
    sigemptyset(&mask);
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked.set_value(sigismember(&mask, SIGINT) + sigismember(&mask, SIGTERM) + sigismember(&mask, SIGUSR1));
  });
  EXPECT_EQ(blocked.get_future().get(), 3);
  sigset_t own;
  sigemptyset(&own);
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_FALSE(sigismember(&own, SIGINT)) << "the caller's are as before";
}

TEST(ThreadTimer, close_waits_for_the_function_that_is_running) {
  Timer timer(false);
  std::promise<void> begun;
  std::promise<void> go_on;
  std::atomic<bool> done{false};
  timer.at(0ns, [&] {
    begun.set_value();
    go_on.get_future().get();
    done = true;
  });
  begun.get_future().get();
  std::jthread closer([&] {
    timer.close();
    EXPECT_TRUE(done);
  });
  go_on.set_value();
}

TEST(ThreadTimer, may_be_ended_by_what_it_runs) {
  auto timer = std::make_unique<Timer>(false);
  std::promise<void> ready, ended;
  Timer* const raw = timer.get();
  raw->at(0ns, [&] {
    ready.get_future().get();
    timer.reset();
    ended.set_value();
  });
  ready.set_value();
  ended.get_future().get();
  EXPECT_EQ(timer, nullptr);
}

}  // namespace
}  // namespace forebay
