#include "store/io_threads.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <latch>
#include <memory>
#include <vector>

namespace forebay {
namespace {

using namespace std::chrono_literals;

TEST(IoThreads, start_with_the_first_job_and_never_more_than_allowed) {
  IoThreads threads(3);
  EXPECT_EQ(threads.threads(), 0u);
  std::latch all(40);
  std::atomic<int> at_once{0}, most{0};
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(threads.post([&] {
      const int now = ++at_once;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::yield();
      --at_once;
      all.count_down();
    }));
  }
  all.wait();
  EXPECT_LE(most, 3);
  EXPECT_LE(threads.threads(), 3u);
  EXPECT_GE(threads.threads(), 1u);
}

TEST(IoThreads, as_many_jobs_as_threads_wait_for_each_other_and_are_let_go) {
  constexpr int kThreads = 4;
  IoThreads threads(kThreads);
  std::latch together(kThreads), done(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.post([&] {
      together.arrive_and_wait();  // each job gets a thread of its own
      done.count_down();
    });
  }
  done.wait();
  EXPECT_EQ(threads.threads(), static_cast<size_t>(kThreads));
}

TEST(IoThreads, a_thread_that_is_idle_takes_the_next_job) {
  IoThreads threads(8);
  for (int i = 0; i < 50; ++i) {
    std::promise<void> done;
    threads.post([&] { done.set_value(); });
    done.get_future().get();
  }
  EXPECT_LE(threads.threads(), 8u);
}

TEST(IoThreads, jobs_of_one_thread_run_in_the_order_they_came) {
  IoThreads threads(1);
  std::vector<int> order;
  std::promise<void> last;
  for (int i = 0; i < 100; ++i) {
    threads.post([&, i] {
      order.push_back(i);
      if (i == 99) last.set_value();
    });
  }
  last.get_future().get();
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_EQ(order.size(), 100u);
}

TEST(IoThreads, close_drops_what_has_not_begun_and_waits_for_what_has) {
  IoThreads threads(1);
  std::promise<void> begun, go_on;
  std::atomic<bool> finished{false};
  const auto held = std::make_shared<std::atomic<int>>(0);
  threads.post([&] {
    begun.set_value();
    go_on.get_future().get();
    finished = true;
  });
  begun.get_future().get();
  for (int i = 0; i < 5; ++i) threads.post([held] { ++*held; });
  std::jthread closer([&] { threads.close(); });
  go_on.set_value();
  closer.join();
  EXPECT_TRUE(finished);
  EXPECT_LE(*held, 5);
  EXPECT_EQ(held.use_count(), 1) << "what jobs held is let go whether they ran or not";
  EXPECT_EQ(threads.threads(), 0u);
  EXPECT_FALSE(threads.post([] {}));
  threads.close();
}

TEST(IoThreads, a_job_that_its_device_does_not_let_go_is_left_behind) {
  std::promise<void> begun;
  const auto go_on = std::make_shared<std::promise<void>>();
  const auto gone = std::make_shared<std::promise<void>>();
  {
    IoThreads threads(1, 1ms);
    threads.post([&begun, go_on, gone] {
      begun.set_value();
      go_on->get_future().get();
      gone->set_value();
    });
    begun.get_future().get();
  }  // the destructor does not wait forever
  go_on->set_value();
  gone->get_future().get();
}

TEST(IoThreads, may_be_closed_by_a_job_of_their_own) {
  std::promise<void> ended;
  auto threads = std::make_unique<IoThreads>(2);
  std::promise<void> ready;
  threads->post([&] {
    ready.get_future().get();
    threads.reset();
    ended.set_value();
  });
  ready.set_value();
  ended.get_future().get();
  EXPECT_EQ(threads, nullptr);
}

TEST(IoThreads, take_no_signals_of_the_program) {
  IoThreads threads(1);
  std::promise<int> blocked;
  threads.post([&] {
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

TEST(IoThreads, jobs_may_post_jobs) {
  IoThreads threads(2);
  std::promise<void> done;
  std::atomic<int> depth{0};
  std::function<void()> next = [&] {
    if (++depth == 200) return done.set_value();
    threads.post(next);
  };
  threads.post(next);
  done.get_future().get();
  EXPECT_EQ(depth, 200);
}

}  // namespace
}  // namespace forebay
