#include "pipeline/run/thread_time.h"

#include <gtest/gtest.h>

#include <numeric>

#include "pipeline/run/runner_test_support.h"

// What the compute threads did for a run.

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
  at(30), time.change(Work::kRows, Work::kEngine);
  at(31), time.begin(Work::kPlan);
  at(33), time.end(Work::kEngine);
  at(40);
  EXPECT_EQ(time.look().parts, (ThreadTime::Parts{48, 0, 0, 9, 3}));
  time.end(Work::kRows);
  at(41), time.end(Work::kPlan);
  at(1000);
  EXPECT_EQ(time.look().parts, (ThreadTime::Parts{48, 0, 0, 10, 3}));
  EXPECT_EQ(time.look().at_ns, 1000);
}

int64_t steady_clock() { return ++now; }  // something has passed at each look

TEST(ThreadTime, a_task_inside_another_runs_task_is_its_own) {
  ThreadTime outer(steady_clock), inner(steady_clock);
  {
    const Spell mine(outer, Work::kRows);
    {
      const Spell other(inner, Work::kUnits);
      Spell::change(outer, Work::kEngine);
      Spell::change(inner, Work::kEngine);
    }
    EXPECT_EQ(of(outer.look().parts, Work::kEngine), 0) << "it is at rows still";
    Spell::change(outer, Work::kAssembly);
  }
  Spell::change(outer, Work::kPlan);  // no task
  EXPECT_EQ(outer.look().parts, (ThreadTime::Parts{5, 0, 1, 0, 0}));
  EXPECT_EQ(inner.look().parts, (ThreadTime::Parts{0, 1, 0, 0, 1}));
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
  held.let_go();
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
    return stats;
  };
  while (runner->next_for(10s)->batch) within();
  const Runner::Stats at_the_end = within();
  for (const Work what : {Work::kRows, Work::kEngine}) EXPECT_GT(of(at_the_end.threads_ns, what), 0);
  EXPECT_EQ(of(at_the_end.threads_ns, Work::kUnits), 0) << "there are none";
  runner->close();
  const ThreadTime::Parts closed = within().threads_ns;
  EXPECT_EQ(runner->stats().threads_ns, closed) << "nothing comes after the close";
}

}  // namespace
}  // namespace forebay
