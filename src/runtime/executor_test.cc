#include "runtime/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <set>

namespace forebay {
namespace {

// Holds the only thread until told, so that what is posted meanwhile waits in the queue.
class Gate {
 public:
  Executor::Task task() {
    return [this](WorkMemory&) {
      entered_.set_value();
      opened_.get_future().wait();
    };
  }
  void wait_until_entered() { entered_.get_future().wait(); }
  void open() { opened_.set_value(); }

 private:
  std::promise<void> entered_, opened_;
};

TEST(Executor, the_oldest_element_goes_first_and_equals_keep_their_order) {
  Executor executor(1);
  Gate gate;
  executor.post(0, gate.task());
  gate.wait_until_entered();
  std::vector<int> ran;
  const std::vector<std::pair<uint64_t, int>> posted = {{5, 0}, {1, 1}, {9, 2}, {1, 3}, {0, 4}, {5, 5}};
  for (auto [priority, name] : posted)
    executor.post(priority, [&ran, name = name](WorkMemory&) { ran.push_back(name); });
  gate.open();
  executor.stop();
  EXPECT_EQ(ran, (std::vector<int>{4, 1, 3, 0, 5, 2}));
}

TEST(Executor, stop_runs_what_was_posted_and_may_be_called_twice) {
  std::atomic<int> ran = 0;
  Executor executor(3);
  for (int i = 0; i < 1000; ++i) executor.post(static_cast<uint64_t>(i), [&](WorkMemory&) { ++ran; });
  executor.stop();
  EXPECT_EQ(ran, 1000);
  executor.stop();
}

TEST(Executor, tasks_may_post) {
  std::atomic<int> ran = 0;
  Executor executor(2);
  std::function<void(int)> chain = [&](int left) {
    ++ran;
    if (left > 0) executor.post(0, [&chain, left](WorkMemory&) { chain(left - 1); });
  };
  executor.post(0, [&](WorkMemory&) { chain(99); });
  executor.stop();
  EXPECT_EQ(ran, 100);
}

TEST(Executor, threads_share_the_work_and_keep_their_own_memory) {
  constexpr int kThreads = 4;
  std::mutex mutex;
  std::set<WorkMemory*> memories;
  std::atomic<int> waiting = 0;
  Executor executor(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    executor.post(0, [&](WorkMemory& memory) {
      {
        std::lock_guard lock(mutex);
        memories.insert(&memory);
      }
      ++waiting;
      while (waiting < kThreads) std::this_thread::yield();  // ends only when all run at once
    });
  }
  executor.stop();
  EXPECT_EQ(memories.size(), size_t{kThreads});
}

TEST(Executor, may_end_as_soon_as_its_last_task_has_run) {
  for (int round = 0; round < 200; ++round) {
    auto executor = std::make_unique<Executor>(1);
    std::promise<void> ran;
    std::thread poster([&] { executor->post(0, [&](WorkMemory&) { ran.set_value(); }); });
    ran.get_future().wait();
    executor.reset();
    poster.join();
  }
}

}  // namespace
}  // namespace forebay
