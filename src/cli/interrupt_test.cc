// Tests Ctrl-C. A signal concerns a whole process, so tests that end one run in a child process.
#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "cli/verbs.h"

namespace forebay {
namespace {

class InterruptDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    // A shell starts background processes with Ctrl-C ignored.
    before_ = ::signal(SIGINT, SIG_DFL);
  }
  void TearDown() override { ::signal(SIGINT, before_); }

  static bool ignored(int signal) {
    struct sigaction now{};
    sigaction(signal, nullptr, &now);
    return now.sa_handler == SIG_IGN;
  }
  static bool by_default(int signal) {
    struct sigaction now{};
    sigaction(signal, nullptr, &now);
    return now.sa_handler == SIG_DFL;
  }
  static void wait_for(const std::stop_token& token) {
    while (!token.stop_requested()) std::this_thread::yield();
  }

 private:
  void (*before_)(int) = SIG_DFL;
};

TEST_F(InterruptDeathTest, TheFirstAsksForAStop) {
  const Interrupt interrupt;
  EXPECT_FALSE(interrupt.requested());
  ::raise(SIGINT);
  wait_for(interrupt.token());
  EXPECT_TRUE(interrupt.requested());
}

TEST_F(InterruptDeathTest, CallbacksMayBlockWithoutHoldingUpTheProgram) {
  const Interrupt interrupt;
  std::atomic<bool> begun = false, release = false;
  const auto main_thread = std::this_thread::get_id();
  const std::stop_callback callback(interrupt.token(), [&] {
    EXPECT_NE(std::this_thread::get_id(), main_thread) << "a handler of a signal may not do such things";
    begun = true;
    while (!release) std::this_thread::yield();
  });
  ::raise(SIGINT);
  while (!begun) std::this_thread::yield();
  EXPECT_TRUE(interrupt.requested());
  release = true;
}

TEST_F(InterruptDeathTest, EverythingIsAsBeforeOnceItIsGone) {
  for (int round = 0; round < 3; ++round) {
    {
      const Interrupt interrupt;
      EXPECT_FALSE(by_default(SIGINT));
      EXPECT_FALSE(interrupt.requested()) << "the last round's Ctrl-C is over";
      ::raise(SIGINT);
      wait_for(interrupt.token());
    }
    EXPECT_TRUE(by_default(SIGINT));
    EXPECT_TRUE(by_default(SIGALRM));
  }
}

TEST_F(InterruptDeathTest, StaysIgnoredWhereItWas) {
  ::signal(SIGINT, SIG_IGN);
  const Interrupt interrupt;
  EXPECT_TRUE(ignored(SIGINT));
  ::raise(SIGINT);
  EXPECT_FALSE(interrupt.requested());
}

TEST_F(InterruptDeathTest, TheSecondEndsTheProgramAtOnce) {
  EXPECT_EXIT(
      {
        const Interrupt interrupt;
        ::raise(SIGINT);
        ::raise(SIGINT);
        std::_Exit(7);  // not reached
      },
      testing::ExitedWithCode(kInterrupted), "");
}

TEST_F(InterruptDeathTest, WhatDoesNotCloseIsLeft) {
  EXPECT_EXIT(
      {
        const Interrupt interrupt;
        ::raise(SIGINT);
        while (true) ::pause();
      },
      testing::ExitedWithCode(kInterrupted), "");
}

TEST_F(InterruptDeathTest, AHangingCallbackDoesNotKeepTheProgram) {
  EXPECT_EXIT(
      {
        const Interrupt interrupt;
        const std::stop_callback hangs(interrupt.token(), [] {
          while (true) ::pause();
        });
        ::raise(SIGINT);
        while (true) ::pause();
      },
      testing::ExitedWithCode(kInterrupted), "");
}

}  // namespace
}  // namespace forebay
