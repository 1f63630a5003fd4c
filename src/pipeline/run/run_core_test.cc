#include <gtest/gtest.h>

#include <future>

#include "pipeline/run/parts_test_support.h"
#include "pipeline/run/runner_test_support.h"

// Tests the lock of a run, and what happens when it is released.

namespace forebay {
namespace {

using namespace runner_test;

StepCounters& counters_of(const RunCore& core) { return *core.plan.first().fetch_counters; }

/// Sends `wanted` reads, one at each step.
struct Asking : private Advancing {
  explicit Asking(Rig rig) : core(*rig.engine, rig.plan(), rig.itinerary(), rig.options) { core.set_run(*this, alive); }
  virtual ~Asking() = default;
  struct Read final : PendingRead {
    explicit Read(Asking& of)
        : PendingRead(*of.core.store_slots[0], {Objects::key_of(0), {}, 1000}, Claim(), counters_of(of.core)),
          asking(of) {}
    void on_result(Result<Buffer>) override {
      asking.deepest = std::max(asking.deepest, ++asking.depth);
      EXPECT_TRUE(asking.core.mutex.try_lock()) << "stores are asked without the lock";
      asking.core.mutex.unlock();
      {
        const AdvancingLock advancing(asking.core);
        asking.core.fetcher.end(*this);
        ++asking.answered;
      }
      --asking.depth;
    }
    Asking& asking;
  };
  void advance(Actions& actions) override {
    if (wanted == 0) return;
    --wanted;
    actions.reads.push_back(std::make_shared<Read>(*this));
    core.fetcher.begin(*actions.reads.back());
  }

  RunCore core;
  int wanted = 0, answered = 0, depth = 0, deepest = 0;
  const std::shared_ptr<void> alive = std::make_shared<int>();
};

TEST(RunCore, a_turn_ends_when_nothing_more_is_decided_and_does_not_nest) {
  Asking asking({});
  asking.wanted = 1000;  // of a store that answers before the call returns
  {
    const AdvancingLock advancing(asking.core);
  }
  EXPECT_EQ(asking.answered, 1000);
  EXPECT_EQ(asking.deepest, 1);
  EXPECT_FALSE(asking.core.anything_running());
}

TEST(RunCore, turns_of_other_runs_inside_of_ones_own_are_whole) {
  Asking outer({}), inner({});
  inner.wanted = 3;
  Actions actions;
  RunCore::Lock lock(outer.core.mutex);
  struct Tells final : PendingRead {
    Tells(StoreSlots& slots, Asking& of, RunCore& own)
        : PendingRead(slots, {Objects::key_of(0), {}, 1000}, Claim(), counters_of(own)), other(of), core(own) {}
    void on_result(Result<Buffer>) override {
      {
        const AdvancingLock advancing(other.core);
      }
      const AdvancingLock advancing(core);
      core.fetcher.end(*this);
    }
    Asking& other;
    RunCore& core;
  };
  actions.reads.push_back(std::make_shared<Tells>(*outer.core.store_slots[0], inner, outer.core));
  outer.core.fetcher.begin(*actions.reads.back());
  outer.core.act(lock, std::move(actions));
  EXPECT_EQ(inner.answered, 3);
  EXPECT_FALSE(outer.core.anything_running());
}

TEST(RunCore, tasks_are_posted_in_their_order_and_counted_until_they_end) {
  Asking asking({});
  asking.core.queue = std::make_shared<Executor>(1)->open(1);
  std::vector<int> ran;
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  RunCore::Lock lock(asking.core.mutex);
  Actions actions;
  const auto task = [&](int number) {
    return [&, number](WorkMemory&) {
      if (number == 0) gone.wait();
      const AdvancingLock advancing(asking.core);
      asking.core.on_task_ended();
      ran.push_back(number);
    };
  };
  asking.core.post(actions, 0, Work::kRows, task(0));  // occupies the only thread
  asking.core.act(lock, std::exchange(actions, {}));
  asking.core.post(actions, 9, Work::kRows, task(9));
  asking.core.post(actions, 4, Work::kRows, task(4));
  asking.core.act(lock, std::exchange(actions, {}));
  EXPECT_EQ(asking.core.posted(), 3);
  lock.unlock();
  go.set_value();
  asking.core.queue.reset();  // waits for the last task
  EXPECT_EQ(ran, (std::vector<int>{0, 4, 9}));
  EXPECT_EQ(asking.core.posted(), 0);
}

TEST(RunCore, what_is_left_to_a_thread_is_destroyed_there_without_the_lock) {
  Asking asking({});
  asking.wanted = 2;
  asking.core.queue = std::make_shared<Executor>(1)->open(1);
  // Makes the thread wait, since it could find the lock held by this thread otherwise.
  std::promise<void> go;
  asking.core.queue->post(0, [gone = go.get_future().share()](WorkMemory&) { gone.wait(); });
  std::thread::id where;
  bool locked = true;
  {
    const RunCore::Lock lock(asking.core.mutex);
    asking.core.post_act(std::shared_ptr<void>(nullptr, [&](void*) {
      where = std::this_thread::get_id();
      locked = !asking.core.mutex.try_lock();
      if (!locked) asking.core.mutex.unlock();
    }));
  }
  go.set_value();
  asking.core.queue.reset();
  EXPECT_EQ(asking.answered, 2) << "its turn goes on with what is to be done";
  EXPECT_NE(where, std::this_thread::get_id());
  EXPECT_FALSE(locked);
}

}  // namespace
}  // namespace forebay
