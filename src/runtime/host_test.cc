#include "runtime/host.h"

#include <gtest/gtest.h>

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <limits>
#include <string>
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

/// Control groups as files in another folder.
class Groups : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_ / "cgroup"); }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  GroupLimits limits() const { return group_limits(root_ / "cgroup", root_ / "self"); }

  static constexpr double kNone = std::numeric_limits<double>::infinity();
  const std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) / ("groups-" + std::to_string(getpid()));
};

TEST_F(Groups, there_need_be_none) {
  EXPECT_EQ(limits().cores, kNone);
  EXPECT_EQ(limits().memory_bytes, kNone);
}

TEST_F(Groups, a_container_has_its_own_at_the_root) {
  write("self", "0::/kubepods/pod7/c1\n");  // does not exist inside of the mount
  write("cgroup/cpu.max", "150000 100000\n");
  write("cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(limits().cores, 1.5);
  EXPECT_EQ(limits().memory_bytes, 1073741824.0);
}

TEST_F(Groups, the_least_of_all_above_counts) {
  write("self", "0::/user.slice/job.scope\n");
  write("cgroup/user.slice/cpu.max", "400000 100000\n");
  write("cgroup/user.slice/job.scope/cpu.max", "max 100000\n");
  write("cgroup/user.slice/memory.max", "max\n");
  write("cgroup/user.slice/job.scope/memory.max", "5000\n");
  EXPECT_EQ(limits().cores, 4);
  EXPECT_EQ(limits().memory_bytes, 5000);
}

TEST_F(Groups, version_1_has_a_tree_for_each_controller) {
  write("self", "12:pids:/job\n7:cpu,cpuacct:/job/step\n4:memory:/job\n1:name=systemd:/\n");
  write("cgroup/cpu/job/step/cpu.cfs_quota_us", "-1\n");
  write("cgroup/cpu/job/step/cpu.cfs_period_us", "100000\n");
  write("cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
  write("cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  write("cgroup/memory/job/memory.limit_in_bytes", "4096\n");
  EXPECT_EQ(limits().cores, 0.5);
  EXPECT_EQ(limits().memory_bytes, 4096);
}

TEST_F(Groups, what_is_no_limit_is_none) {
  write("self", "nonsense\n0::\n0:cpu\n");
  for (const char* text : {"", "max", "max 100000", "x 100000", "100000", "100000 0", "-5 100000", "0 100000"}) {
    write("cgroup/cpu.max", text);
    EXPECT_EQ(limits().cores, kNone) << text;
  }
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
  EXPECT_GE(time.ran, 0.015);  // the kernel counts in ticks
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
