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
  // Its thread has begun and rests: one that is allocating at the fork leaves the child of a sanitized process without a heap.
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

}  // namespace
}  // namespace forebay
