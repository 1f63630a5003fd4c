#include "engine/engine.h"

#include <gtest/gtest.h>

#include <atomic>

#include <sys/wait.h>
#include <unistd.h>

namespace forebay {
namespace {

TEST(Engine, there_is_one_for_all_who_hold_it_and_none_behind_the_last) {
  std::weak_ptr<Engine> known;
  {
    const std::shared_ptr<Engine> one = Engine::shared(), two = Engine::shared();
    EXPECT_EQ(one, two);
    known = one;
  }
  EXPECT_TRUE(known.expired());
}

TEST(Engine, a_forked_child_has_one_of_its_own) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer allows no threads in a child of a process that has some";
#endif
  const std::shared_ptr<Engine> engine = Engine::shared();
  // The thread of the executor has started and is idle. If it allocated during the fork, the child
  // of a sanitized process would have no heap.
  engine->executor->open(1)->post(0, [](WorkMemory&) {});
  const pid_t child = fork();
  if (child == 0) {
    const std::shared_ptr<Engine> own = Engine::shared();
    std::atomic<bool> ran = false;
    own->executor->open(1)->post(0, [&](WorkMemory&) { ran = true; });
    _exit(own != engine && ran ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Engine, its_threads_follow_the_cores_there_are) {
  int cores = 1;
  const Engine engine(1, monotonic_ns, [&](const Executor&) { return cores; });
  const auto queue = engine.executor->open(2), another = engine.executor->open(2, /*own=*/true);
  EXPECT_EQ(engine.update_cores(), 1);
  EXPECT_EQ(engine.executor->threads(), 2);
  cores = 4;
  EXPECT_EQ(engine.update_cores(), 4);
  EXPECT_EQ(engine.executor->cores(), 4);
  EXPECT_EQ(engine.executor->threads(), 4);
}

TEST(Engine, one_whose_cores_are_given_keeps_them) {
  const Engine engine(3);
  EXPECT_EQ(engine.update_cores(), 3);
  EXPECT_EQ(engine.executor->cores(), 3);
}

}  // namespace
}  // namespace forebay
