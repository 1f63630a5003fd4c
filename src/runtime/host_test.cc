#include "runtime/host.h"

#include <gtest/gtest.h>

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <thread>

#include "base/clock.h"
#include "runtime/fork_guard.h"

namespace forebay {
namespace {

TEST(Host, cores_follow_the_affinity_mask) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), sysconf(_SC_NPROCESSORS_CONF));
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Host, memory_is_what_the_machine_could_have) {
  EXPECT_GT(usable_memory(), uint64_t{64} << 20);
  EXPECT_LT(usable_memory(), uint64_t{1} << 50);
}

TEST(Host, the_core_time_of_threads_is_told_by_their_name) {
  if (!std::filesystem::exists("/proc/self/schedstat")) GTEST_SKIP() << "the kernel does not say";
  const char* const name = "host-test-burns";
  EXPECT_EQ(core_time_of_threads(name).ran, 0);
  std::promise<void> burnt, seen;
  std::thread burning([&] {
    pthread_setname_np(pthread_self(), name);
    for (const int64_t begun = thread_cpu_ns(); thread_cpu_ns() - begun < 20'000'000;) {
    }
    burnt.set_value();
    seen.get_future().wait();
  });
  burnt.get_future().wait();
  const CoreTime time = core_time_of_threads(name);
  seen.set_value();
  burning.join();
  EXPECT_GE(time.ran, 0.015);  // the kernel counts at its ticks
  EXPECT_GE(time.waited, 0);
}

TEST(ForkGuard, a_child_is_another_generation_and_the_parent_stays) {
  const uint64_t before = process_generation();
  const pid_t child = fork();
  if (child == 0) {
    const bool other = process_generation() != before;
    const uint64_t mine = process_generation();
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(process_generation() != mine ? 0 : 2);
    int status = 0;
    waitpid(grandchild, &status, 0);
    _exit(other ? WEXITSTATUS(status) : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(process_generation(), before);
}

}  // namespace
}  // namespace forebay
