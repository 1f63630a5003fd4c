#include "pipeline/run/thread_time.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "pipeline/run/runner_test_support.h"

// Tests the time that compute threads work for a run.

namespace forebay {
namespace {

using namespace runner_test;
using namespace std::chrono_literals;

int64_t of(const ThreadTime::Parts& parts, Work what) { return parts[static_cast<size_t>(what)]; }
int64_t whole(const ThreadTime::Parts& parts) { return std::accumulate(parts.begin(), parts.end(), int64_t{0}); }

int64_t now = 0;
int64_t virtual_clock() { return now; }

TEST(ThreadTime, tasks_that_ended_and_those_that_run_are_counted) {
  ThreadTime time(virtual_clock);
  const auto at = [](int64_t ns) { now = ns; };
  at(10), time.begin(Work::kRows);
  at(12), time.begin(Work::kRows);
  at(20);
  EXPECT_EQ(time.look().parts, (ThreadTime::Parts{18, 0, 0, 0, 0})) << "two at once";
  at(30), time.change(Work::kRows, Work::kEngine, 7);
  at(31), time.begin(Work::kPlan);
  at(33), time.end(Work::kEngine, 2);
  at(40);
  EXPECT_EQ(time.look().parts, (ThreadTime::Parts{48, 0, 0, 9, 3}));
  EXPECT_EQ(time.look().cpu, (ThreadTime::Parts{7, 0, 0, 0, 2})) << "of what has ended";
  time.end(Work::kRows, 5);
  at(41), time.end(Work::kPlan, 1);
  at(1000);
  EXPECT_EQ(time.look().parts, (ThreadTime::Parts{48, 0, 0, 10, 3}));
  EXPECT_EQ(time.look().cpu, (ThreadTime::Parts{12, 0, 0, 1, 2}));
  EXPECT_EQ(time.look().at_ns, 1000);
}

int64_t steady_clock() { return ++now; }  // advances at each look

TEST(ThreadTime, a_task_inside_another_runs_task_is_its_own) {
  ThreadTime outer(steady_clock), inner(steady_clock);
  {
    const WorkTimer mine(outer, Work::kRows);
    {
      const WorkTimer other(inner, Work::kChunks);
      WorkTimer::change(outer, Work::kEngine);
      WorkTimer::change(inner, Work::kEngine);
    }
    EXPECT_EQ(of(outer.look().parts, Work::kEngine), 0) << "it is at rows still";
    WorkTimer::change(outer, Work::kAssembly);
  }
  WorkTimer::change(outer, Work::kPlan);  // no task of `outer` runs here
  EXPECT_EQ(outer.look().parts, (ThreadTime::Parts{5, 0, 1, 0, 0}));
  EXPECT_EQ(inner.look().parts, (ThreadTime::Parts{0, 1, 0, 0, 1}));
}

void burn(int64_t cpu_ns) {
  for (const int64_t begun = thread_cpu_ns(); thread_cpu_ns() - begun < cpu_ns;) {
  }
}

TEST(ThreadTime, cpu_time_is_that_of_the_thread_part_by_part_and_leaves_out_what_it_waited) {
  ThreadTime time;
  const int64_t begun = thread_cpu_ns();
  {
    const WorkTimer timer(time, Work::kRows);
    burn(3'000'000);
    std::thread([] { burn(5'000'000); }).join();  // takes time and none of this thread's CPU time
    WorkTimer::change(time, Work::kEngine);
    burn(1'000'000);
  }
  const int64_t all = thread_cpu_ns() - begun;
  const ThreadTime::Look look = time.look();
  EXPECT_GE(of(look.cpu, Work::kRows), 3'000'000);
  EXPECT_GE(of(look.cpu, Work::kEngine), 1'000'000);
  EXPECT_LE(whole(look.cpu), all);
  EXPECT_GE(whole(look.cpu), all - 500'000);
  EXPECT_GE(whole(look.parts) - whole(look.cpu), 4'900'000) << "it waited";
}

TEST(ThreadTime, cpu_time_between_tasks_is_that_of_the_run_that_has_the_next) {
  std::thread([] {  // the thread's CPU time starts at 0
    ThreadTime first(monotonic_ns), second(monotonic_ns);
    burn(1'000'000);
    {
      const WorkTimer timer(first, Work::kRows);
      burn(1'000'000);
      const WorkTimer inside(second, Work::kPlan);
    }
    EXPECT_EQ(second.look().idle_cpu, 0) << "a task inside another has nothing between";
    burn(2'000'000);
    {
      const WorkTimer timer(second, Work::kRows);
    }
    EXPECT_GE(first.look().idle_cpu, 1'000'000);
    EXPECT_GE(second.look().idle_cpu, 2'000'000);
    const int64_t counted =
        whole(first.look().cpu) + whole(second.look().cpu) + first.look().idle_cpu + second.look().idle_cpu;
    EXPECT_LE(thread_cpu_ns() - counted, 500'000) << "nothing is left out";
  })
      .join();
}

TEST(ThreadTime, a_task_that_does_not_return_is_seen_while_it_runs) {
  Rig rig;
  rig.options.threads = 1;
  rig.engine = std::make_shared<Engine>(1);
  HeldWork held;
  rig.ops = {{"waits", held.function()}};
  const auto runner = rig.run();
  EXPECT_TRUE(runner->next_for(0ms)->timed_out);
  held.wait_until_begun();
  const ThreadTime::Parts before = runner->stats().threads_ns;
  EXPECT_TRUE(runner->next_for(2ms)->timed_out);
  EXPECT_GE(of(runner->stats().threads_ns, Work::kRows), of(before, Work::kRows) + 1'000'000);
  held.release();
  EXPECT_EQ(drain(*runner).ids.size(), rig.sizes.size());
}

TEST(ThreadTime, together_it_is_never_more_than_the_threads_had) {
  Rig rig;
  rig.store = jittery(rig.sizes);
  rig.epochs = 3;
  rig.options.threads = 3;
  const auto runner = rig.run();
  const auto within = [&] {
    const Runner::Stats stats = runner->stats();
    EXPECT_LE(whole(stats.threads_ns), 3 * stats.elapsed_ns);
    // These are two clocks of the kernel, which may differ by some parts in ten thousand.
    EXPECT_LE(whole(stats.threads_cpu_ns), whole(stats.threads_ns) * 1.001 + 1000);
    return stats;
  };
  while (runner->next_for(10s)->batch) within();
  const Runner::Stats at_the_end = within();
  for (const Work what : {Work::kRows, Work::kEngine}) EXPECT_GT(of(at_the_end.threads_ns, what), 0);
  EXPECT_EQ(of(at_the_end.threads_ns, Work::kChunks), 0) << "there are none";
  runner->close();
  const ThreadTime::Parts closed = within().threads_ns;
  EXPECT_EQ(runner->stats().threads_ns, closed) << "nothing comes after the close";
}

}  // namespace
}  // namespace forebay
