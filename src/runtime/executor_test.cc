#include "runtime/executor.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <set>
#include <string>

#include "runtime/host.h"

namespace forebay {
namespace {

// A task that holds its thread until the gate opens.
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
  const auto executor = std::make_shared<Executor>(1);
  auto queue = executor->open(1);
  Gate gate;
  queue->post(0, gate.task());
  gate.wait_until_entered();
  std::vector<int> ran;
  const std::vector<std::pair<uint64_t, int>> posted = {{5, 0}, {1, 1}, {9, 2}, {1, 3}, {0, 4}, {5, 5}};
  for (auto [priority, name] : posted) queue->post(priority, [&ran, name = name](WorkMemory&) { ran.push_back(name); });
  gate.open();
  queue.reset();
  EXPECT_EQ(ran, (std::vector<int>{4, 1, 3, 0, 5, 2}));
}

TEST(Executor, the_end_of_a_queue_runs_what_was_posted) {
  std::atomic<int> ran = 0;
  const auto executor = std::make_shared<Executor>(3);
  auto queue = executor->open(3);
  for (int i = 0; i < 1000; ++i) queue->post(static_cast<uint64_t>(i), [&](WorkMemory&) { ++ran; });
  queue.reset();
  EXPECT_EQ(ran, 1000);
}

TEST(Executor, tasks_may_post) {
  std::atomic<int> ran = 0;
  const auto executor = std::make_shared<Executor>(2);
  auto queue = executor->open(2);
  std::function<void(int)> chain = [&](int left) {
    ++ran;
    if (left > 0) queue->post(0, [&chain, left](WorkMemory&) { chain(left - 1); });
  };
  std::promise<void> begun;
  queue->post(0, [&](WorkMemory&) { chain(99); });
  while (ran < 100) std::this_thread::yield();
  queue.reset();
  EXPECT_EQ(ran, 100);
}

TEST(Executor, threads_share_the_work_and_each_task_has_memory_of_its_own) {
  constexpr int kThreads = 4;
  std::mutex mutex;
  std::set<WorkMemory*> memories;
  std::atomic<int> waiting = 0;
  const auto executor = std::make_shared<Executor>(kThreads);
  auto queue = executor->open(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    queue->post(0, [&](WorkMemory& memory) {
      {
        std::lock_guard lock(mutex);
        memories.insert(&memory);
      }
      ++waiting;
      while (waiting < kThreads) std::this_thread::yield();  // ends only if all run at once
    });
  }
  queue.reset();
  EXPECT_EQ(memories.size(), size_t{kThreads});
}

TEST(Executor, may_end_as_soon_as_its_last_task_has_run) {
  for (int round = 0; round < 200; ++round) {
    auto executor = std::make_shared<Executor>(1);
    auto queue = executor->open(1);
    executor.reset();
    std::promise<void> ran;
    std::thread poster([&] { queue->post(0, [&](WorkMemory&) { ran.set_value(); }); });
    ran.get_future().wait();
    poster.join();
    queue.reset();
  }
}

TEST(Executor, may_end_on_a_thread_of_its_own) {
  for (int round = 0; round < 200; ++round) {
    auto executor = std::make_shared<Executor>(2);
    auto queue = std::make_shared<std::unique_ptr<Executor::Queue>>(executor->open(2));
    executor.reset();
    Executor::Queue& last = **queue;
    std::promise<void> ended;
    auto ended_future = ended.get_future();
    last.post(0, [queue = std::move(queue), &ended](WorkMemory&) mutable {
      queue.reset();
      ended.set_value();
    });
    ended_future.wait();
  }
}

TEST(Executor, queues_together_have_as_many_threads_as_there_are_cores) {
  const auto executor = std::make_shared<Executor>(4);
  const auto one = executor->open(4), two = executor->open(4);
  EXPECT_EQ(executor->threads(), 4);
}

TEST(Executor, a_queue_that_asks_for_more_gets_them) {
  const auto executor = std::make_shared<Executor>(2);
  const auto one = executor->open(2);
  const auto many = executor->open(7, /*own=*/true);
  EXPECT_EQ(executor->threads(), 7);
}

TEST(Executor, threads_of_ones_own_are_beside_those_that_are_shared) {
  const auto executor = std::make_shared<Executor>(8);
  const auto shared = executor->open(2), shared_too = executor->open(2);
  EXPECT_EQ(executor->threads(), 2);
  const auto own = executor->open(3, /*own=*/true);
  EXPECT_EQ(executor->threads(), 5);
}

TEST(Executor, a_queue_may_be_allowed_more_and_gets_threads_for_it) {
  const auto executor = std::make_shared<Executor>(4);
  auto queue = executor->open(1);
  EXPECT_EQ(executor->threads(), 1);
  queue->set_limit(3);
  EXPECT_EQ(executor->threads(), 3);
  std::atomic<int> at_once = 0;
  for (int i = 0; i < 3; ++i) {
    queue->post(0, [&](WorkMemory&) {
      ++at_once;
      while (at_once < 3) std::this_thread::yield();  // ends only if all run at once
    });
  }
  queue.reset();
  EXPECT_EQ(at_once, 3);
}

TEST(Executor, a_queue_that_is_allowed_less_keeps_to_it_and_what_runs_goes_on) {
  const auto executor = std::make_shared<Executor>(2);
  auto queue = executor->open(2);
  Gate first, second;
  queue->post(0, first.task());
  queue->post(0, second.task());
  first.wait_until_entered();
  second.wait_until_entered();
  queue->set_limit(1);
  std::atomic<int> running = 0, most = 0;
  for (int i = 0; i < 50; ++i) {
    queue->post(0, [&](WorkMemory&) {
      most = std::max<int>(most, ++running);
      std::this_thread::yield();
      --running;
    });
  }
  first.open();  // one still runs, so no other may
  second.open();
  queue.reset();
  EXPECT_EQ(most, 1);
}

TEST(Executor, follows_the_number_of_cores) {
  const auto executor = std::make_shared<Executor>(1);
  const auto one = executor->open(2, /*own=*/true), two = executor->open(2, /*own=*/true);
  EXPECT_EQ(executor->threads(), 2);  // a single queue has that limit
  executor->set_cores(3);
  EXPECT_EQ(executor->cores(), 3);
  EXPECT_EQ(executor->threads(), 3);
  executor->set_cores(1);
  EXPECT_EQ(executor->threads(), 3) << "those that are too many rest";
  std::atomic<int> running = 0, most = 0;
  for (int i = 0; i < 50; ++i) {
    for (const auto* queue : {&one, &two}) {
      (*queue)->post(0, [&](WorkMemory&) {
        most = std::max<int>(most, ++running);
        std::this_thread::yield();
        --running;
      });
    }
  }
  std::promise<void> last_of_one, last_of_two;
  one->post(1, [&](WorkMemory&) { last_of_one.set_value(); });
  two->post(1, [&](WorkMemory&) { last_of_two.set_value(); });
  last_of_one.get_future().wait();
  last_of_two.get_future().wait();
  EXPECT_LE(most, 2);
}

TEST(Executor, its_threads_give_way_to_those_of_the_program) {
  const int of_the_program = getpriority(PRIO_PROCESS, 0);
  const auto executor = std::make_shared<Executor>(1);
  auto queue = executor->open(1);
  int of_a_task = 0;
  queue->post(0, [&](WorkMemory&) { of_a_task = getpriority(PRIO_PROCESS, 0); });
  queue.reset();
  EXPECT_EQ(of_a_task, std::min(of_the_program + Executor::kNiceness, 19));
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), of_the_program);
}

TEST(Executor, cores_are_those_that_its_threads_may_use_whatever_the_caller_may) {
  const auto executor = std::make_shared<Executor>(1);
  const int at_first = executor->usable_cores();
  EXPECT_EQ(at_first, usable_cores());
  const auto queue = executor->open(1);
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(executor->usable_cores(), at_first);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Executor, no_more_tasks_of_a_queue_run_at_once_than_it_allows) {
  const auto executor = std::make_shared<Executor>(4);
  const auto others = executor->open(4);
  auto queue = executor->open(2);
  std::atomic<int> running = 0, most = 0;
  for (int i = 0; i < 200; ++i) {
    queue->post(0, [&](WorkMemory&) {
      const int now = ++running;
      int known = most;
      while (now > known && !most.compare_exchange_weak(known, now)) {
      }
      std::this_thread::yield();
      --running;
    });
  }
  queue.reset();
  EXPECT_LE(most, 2);
  EXPECT_GE(most, 1);
}

std::atomic<int64_t> now_ns{0};  // the clock of some tests

// Two threads run long tasks of one queue. The first one that becomes free goes to the other queue,
// and stays available to it while it has no work for a moment.
TEST(Executor, long_tasks_of_one_queue_do_not_hold_up_another_one) {
  const auto executor = std::make_shared<Executor>(2, [] { return now_ns.load(); });
  std::vector<std::unique_ptr<Gate>> gates;  // outlive the tasks
  for (int i = 0; i < 4; ++i) gates.push_back(std::make_unique<Gate>());
  auto slow = executor->open(2), quick = executor->open(2);
  for (uint64_t i = 0; i < 4; ++i) slow->post(i, gates[i]->task());
  gates[0]->wait_until_entered();
  gates[1]->wait_until_entered();
  now_ns += 100'000'000;
  // The tasks run one after another, while gate 1 is closed and before gates 2 and 3 have their
  // turn.
  for (int i = 0; i < 100; ++i) {
    std::promise<void> done;
    quick->post(0, [&](WorkMemory&) { done.set_value(); });
    if (i == 0) gates[0]->open();
    done.get_future().wait();
  }
  for (int i = 1; i < 4; ++i) gates[static_cast<size_t>(i)]->open();
}

TEST(Executor, queues_get_the_same_time_and_a_newcomer_is_level_with_the_others) {
  const auto executor = std::make_shared<Executor>(1, [] { return now_ns.load(); });
  auto old = executor->open(1);
  std::string order;
  const auto takes = [&order](char name, int64_t ns) {
    return [&order, name, ns](WorkMemory&) {
      order += name;
      now_ns += ns;
    };
  };
  for (int i = 0; i < 1000; ++i) old->post(0, takes('.', 1000));
  Gate gate;
  old->post(1, gate.task());
  gate.wait_until_entered();
  auto fresh = executor->open(1);
  for (int i = 0; i < 6; ++i) old->post(2, takes('o', 200));
  for (int i = 0; i < 12; ++i) fresh->post(2, takes('f', 100));
  gate.open();
  old.reset();
  fresh.reset();
  order.erase(0, 1000);
  // Two tasks of the new queue take as long as one of the other's. Neither queue makes up for
  // earlier time.
  EXPECT_EQ(order.size(), 18u);
  for (size_t done = 3; done <= order.size(); done += 3) {
    const auto mine = static_cast<int>(std::count(order.begin(), order.begin() + static_cast<ptrdiff_t>(done), 'f'));
    EXPECT_NEAR(mine, 2 * static_cast<int>(done) / 3, 1) << order;
  }
}

// User code may take batches of another loader. Then all threads wait for tasks, and no thread is
// left to run them.
TEST(Executor, tasks_that_wait_for_other_tasks_let_others_run) {
  const auto executor = std::make_shared<Executor>(2);
  auto outer = executor->open(2), inner = executor->open(2);
  std::atomic<int> ran = 0;
  for (int i = 0; i < 20; ++i) {
    outer->post(0, [&](WorkMemory&) {
      std::promise<void> done;
      inner->post(0, [&](WorkMemory&) { done.set_value(); });
      const Executor::BlockingScope waiting;
      done.get_future().wait();
      ++ran;
    });
  }
  outer.reset();
  EXPECT_EQ(ran, 20);
  EXPECT_LE(executor->threads(), 4);
}

TEST(Executor, threads_whose_task_does_not_return_are_left_behind_and_others_come_in_their_place) {
  const auto stuck = std::make_shared<Gate>();  // the abandoned thread uses it after all else
  std::atomic<int> ran = 0;
  {
    const auto executor = std::make_shared<Executor>(1);
    auto bad = executor->open(1), good = executor->open(1);
    bad->post(0, [stuck](WorkMemory& memory) { stuck->task()(memory); });
    stuck->wait_until_entered();
    bad->post(0, [&](WorkMemory&) { ++ran; });
    good->post(0, [&](WorkMemory&) { ++ran; });
    bad->abandon();
    bad.reset();
    good.reset();
    EXPECT_EQ(executor->threads(), 1);
  }
  EXPECT_EQ(ran, 2);
  stuck->open();
}

}  // namespace
}  // namespace forebay
