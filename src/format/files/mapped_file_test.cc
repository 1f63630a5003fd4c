#include "format/files/mapped_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "store/scratch_folder.h"

namespace forebay {
namespace {

constexpr size_t kPageBytes = 4096;

struct MappedFileTest : testing::Test {
  std::shared_ptr<const MappedFile> map(size_t bytes) const {
    folder.write("x", std::string(bytes, 'x'));
    return MappedFile::open(folder.path("x")).value();
  }
  void cut(size_t bytes) const { std::filesystem::resize_file(folder.path("x"), bytes); }
  static Status touch(const MappedFile& file, size_t at) {
    uint8_t byte = 0;
    const uint8_t* from = file.data() + at;
    return file.read([&byte, from] { byte = *static_cast<const volatile uint8_t*>(from); });
  }
  const ScratchFolder folder;
};

TEST_F(MappedFileTest, WhatCannotBeMappedIsToldWithItsName) {
  folder.write("empty", "");
  ASSERT_EQ(::mkfifo(folder.path("fifo").c_str(), 0600), 0);
  const std::pair<const char*, Code> cases[] = {
      {"empty", Code::kCorrupt}, {"none", Code::kNotFound}, {"none/x", Code::kNotFound}, {"fifo", Code::kUnsupported}};
  for (const auto& [name, code] : cases) {
    const Status status = MappedFile::open(folder.path(name)).status();
    EXPECT_EQ(status.code(), code) << status.to_string();
    EXPECT_EQ(status.key(), folder.path(name));
  }
}

TEST_F(MappedFileTest, TheBytesStayThoseOfTheFileThatWasOpened) {
  const auto file = map(10);
  const uint64_t version = file->version();
  folder.write("y", "another file");
  std::filesystem::rename(folder.path("y"), folder.path("x"));
  EXPECT_EQ(file->size(), 10u);
  EXPECT_EQ(std::memcmp(file->data(), "xxxxxxxxxx", 10), 0);
  EXPECT_TRUE(file->check_length().ok()) << "replaced, not cut";
  EXPECT_NE(MappedFile::open(folder.path("x")).value()->version(), version);
  std::filesystem::remove(folder.path("x"));
  EXPECT_TRUE(touch(*file, 9).ok());
}

TEST_F(MappedFileTest, AFileThatGrewIsWhatItWas) {
  const auto file = map(kPageBytes);
  cut(3 * kPageBytes);
  EXPECT_TRUE(file->check_length().ok());
  EXPECT_EQ(file->size(), kPageBytes);
}

TEST_F(MappedFileTest, OnlyPagesThatAreGoneAreErrorsAndTheyComeBackWithTheFile) {
  const auto file = map(3 * kPageBytes);
  cut(kPageBytes);
  EXPECT_TRUE(touch(*file, 0).ok());
  EXPECT_TRUE(touch(*file, kPageBytes - 1).ok());
  for (const size_t at : {kPageBytes, 3 * kPageBytes - 1}) {
    const Status status = touch(*file, at);
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_EQ(status.key(), folder.path("x"));
    EXPECT_NE(status.message().find("12288 bytes"), std::string::npos) << status.message();
  }
  EXPECT_EQ(file->check_length().code(), Code::kUnavailable);
  cut(3 * kPageBytes);
  EXPECT_TRUE(touch(*file, 3 * kPageBytes - 1).ok());
  EXPECT_TRUE(file->check_length().ok());
}

TEST_F(MappedFileTest, EachThreadFindsOnlyItsOwnFileShorter) {
  const auto cut_one = map(2 * kPageBytes);
  folder.write("whole", std::string(2 * kPageBytes, 'y'));
  const auto whole = MappedFile::open(folder.path("whole")).value();
  cut(kPageBytes);
  std::atomic<int> failed{0}, read{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const MappedFile& file = t % 2 == 0 ? *cut_one : *whole;
      for (int i = 0; i < 500; ++i) ++(touch(file, kPageBytes).ok() ? read : failed);
    });
  }
  threads.clear();
  EXPECT_EQ(failed, 1000);
  EXPECT_EQ(read, 1000);
}

std::atomic<int> g_others_signals{0};
void others_handler(int) { ++g_others_signals; }
void others_informed_handler(int, siginfo_t*, void*) { g_others_signals += 10; }

// Python's faulthandler and others install handlers of their own.
TEST_F(MappedFileTest, ASignalThatIsNoneOfOursGoesToTheHandlerThatWasThere) {
  for (const bool informed : {false, true}) {
    g_others_signals = 0;
    struct sigaction others = {};
    if (informed) {
      others.sa_sigaction = others_informed_handler;
      others.sa_flags = SA_SIGINFO;
    } else {
      others.sa_handler = others_handler;
    }
    ::sigaction(SIGBUS, &others, nullptr);
    const auto file = map(2 * kPageBytes);  // its handler runs first again
    sigset_t bus_error;
    sigemptyset(&bus_error);
    sigaddset(&bus_error, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &bus_error, nullptr);
    ::raise(SIGBUS);
    EXPECT_EQ(g_others_signals, informed ? 10 : 1);
    cut(kPageBytes);
    EXPECT_EQ(touch(*file, kPageBytes).code(), Code::kUnavailable);
    EXPECT_EQ(g_others_signals, informed ? 10 : 1) << "this one is ours";
  }
  struct sigaction by_default = {};
  ::sigaction(SIGBUS, &by_default, nullptr);
  map(1);  // restores the handler for other tests, with no other one after it
}

}  // namespace
}  // namespace forebay
