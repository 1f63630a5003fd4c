#include "store/read_buffers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <stop_token>
#include <thread>
#include <vector>

namespace forebay {

TEST(ReadBuffers, GivesTheSameMemoryAgain) {
  const auto buffers = ReadBuffers::make(1 << 20);
  Buffer first = buffers->acquire(100'000).value();
  const uint8_t* const where = first.data();
  EXPECT_EQ(first.size(), 100'000u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(where) % 64, 0u);
  EXPECT_EQ(buffers->idle_bytes(), 0u);
  first = Buffer();
  EXPECT_GE(buffers->idle_bytes(), 100'000u);
  EXPECT_LE(buffers->idle_bytes(), 125'000u);
  EXPECT_EQ(buffers->acquire(99'000).value().data(), where);
}

TEST(ReadBuffers, EveryClassHoldsItsSizes) {
  const auto buffers = ReadBuffers::make(1 << 20);
  for (size_t size : {0, 1, 4095, 4096, 4097, 5119, 5120, 5121, 8191, 8192, 8193, 10'240, 10'241, 65'537, 1'000'001}) {
    for (int twice = 0; twice < 2; ++twice) {
      Buffer buffer = buffers->acquire(size).value();
      ASSERT_EQ(buffer.size(), size);
      // AddressSanitizer detects a block that is too small.
      if (size > 0) std::memset(buffer.data(), 1, size);
    }
  }
}

TEST(ReadBuffers, KeepsNoMoreThanItsCapacityAndDropsTheOldestFirst) {
  const auto buffers = ReadBuffers::make(100'000);
  std::vector<Buffer> held;
  for (int i = 0; i < 50; ++i) held.push_back(buffers->acquire(10'000).value());
  held.clear();
  EXPECT_LE(buffers->idle_bytes(), 100'000u);
  EXPECT_GT(buffers->idle_bytes(), 80'000u);
  for (int i = 0; i < 10; ++i) (void)buffers->acquire(50'000).value();
  Buffer large = buffers->acquire(200'000).value();
  large = Buffer();
  EXPECT_LE(buffers->idle_bytes(), 100'000u);
}

TEST(ReadBuffers, BuffersOutliveTheirOwner) {
  auto buffers = ReadBuffers::make(1 << 20);
  Buffer retained = buffers->acquire(5000).value();
  buffers.reset();
  std::memset(retained.data(), 7, retained.size());
  EXPECT_EQ(retained.data()[4999], 7);
}

TEST(ReadBuffers, AnImpossibleSizeIsOutOfBudgetWithTheFigure) {
  const auto buffers = ReadBuffers::make(0);
  for (const size_t size : {SIZE_MAX, SIZE_MAX / 2, size_t{1} << 60}) {
    const auto answer = buffers->acquire(size);
    EXPECT_EQ(answer.status().code(), Code::kOutOfBudget);
    EXPECT_EQ(answer.status().bytes_needed(), size);
  }
}

TEST(ReadBuffers, ManyThreads) {
  const auto buffers = ReadBuffers::make(1 << 20);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 2000; ++i) {
        Buffer buffer = buffers->acquire(4000 + i * 37 % 90'000).value();
        buffer.data()[0] = buffer.data()[buffer.size() - 1] = static_cast<uint8_t>(t);
        ASSERT_EQ(buffer.data()[0], t);
      }
    });
  }
}

// Forks while another thread holds the lock, which then stays locked in the child forever.
TEST(ReadBuffers, TheChildOfAForkGivesBuffersUpWithoutTheLock) {
  const auto buffers = ReadBuffers::make(1 << 20);
  const std::jthread busy([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) (void)buffers->acquire(8192).value();
  });
  for (int i = 0; i < 200; ++i) {
    Buffer held = buffers->acquire(8192).value();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(10);
      held = Buffer();
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "the child hung: " << status;
  }
}

TEST(ReadBuffers, GivesBackAsMuchAsIsAskedForTheLongestIdleFirst) {
  const auto buffers = ReadBuffers::make(1 << 20);
  {
    Buffer old = buffers->acquire(8192).value();
  }
  {
    const Buffer one = buffers->acquire(16'384).value(), two = buffers->acquire(16'384).value();
  }
  ASSERT_EQ(buffers->bytes(), 40'960u);
  EXPECT_EQ(buffers->reclaim(1), 8192u);
  EXPECT_EQ(buffers->bytes(), 32'768u);
  EXPECT_EQ(buffers->reclaim(1 << 20), 32'768u);
  EXPECT_EQ(buffers->reclaim(1), 0u);
}

}  // namespace forebay
