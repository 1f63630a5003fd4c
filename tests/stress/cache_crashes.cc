// Writers of one cache that are killed at any moment: nothing wrong is ever served, the folder stays within its budget, and
// filling goes on.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <new>
#include <random>

#include "cache/cache_maintenance.h"
#include "cache/cache_test_support.h"
#include "forebay/stats/cache.h"

namespace forebay {
namespace {

constexpr uint64_t kEntries = 3000;
constexpr int kKills = 200, kWriters = 3;
constexpr uint64_t kBudget = uint64_t{4} << 20;

CacheOptions options_of(const ScratchFolder& folder) {
  CacheOptions options;
  options.disk_bytes = kBudget;
  options.dir = folder.path("caches");
  options.cache_id = id_of(1);
  options.description = "crash test";
  return options;
}

/// An exit code other than that of a kill says what was wrong.
[[noreturn]] void write_until_killed(const ScratchFolder& folder, uint64_t seed) {
  const auto opened = open_cache(options_of(folder));
  if (!opened.ok()) ::_exit(10);
  std::mt19937_64 random(seed);
  while (true) {
    const uint64_t n = random() % kEntries;
    const auto columns = looked_up(**opened, id_of(n));
    if (columns && !same_columns(*columns, columns_of_seed(n, 10))) ::_exit(11);
    if (!columns && (*opened)->try_admit({}, 1500)) (*opened)->put(id_of(n), shared_columns(n, 10), 0.01);
  }
}

pid_t start_writer(const ScratchFolder& folder, uint64_t seed) {
  const pid_t child = ::fork();
  if (child == 0) write_until_killed(folder, seed);
  return child;
}

/// A process that measures the folder all the time.
class Watcher {
 public:
  explicit Watcher(const std::string& folder)
      : seen_(static_cast<Seen*>(
            ::mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    new (seen_) Seen();
    child_ = ::fork();
    while (child_ == 0) {
      seen_->largest = std::max<uint64_t>(seen_->largest, disk_use(folder));
      ++seen_->looks;
    }
  }
  ~Watcher() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::munmap(seen_, sizeof(Seen));
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  uint64_t largest() const { return seen_->largest; }
  uint64_t looks() const { return seen_->looks; }

 private:
  struct Seen {
    std::atomic<uint64_t> largest{0}, looks{0};
  };
  Seen* const seen_;
  pid_t child_ = -1;
};

TEST(CacheCrashes, WritersThatAreKilledLeaveNothingThatMatters) {
  const ScratchFolder folder;
  std::mt19937_64 random(11);
  std::vector<pid_t> writers;
  for (int i = 0; i < kWriters; ++i) writers.push_back(start_writer(folder, random()));
  const Watcher watcher(folder.path("caches"));
  for (int kill = 0; kill < kKills; ++kill) {
    // The moment is anywhere in a writer's life: opening, measuring, writing data or index.
    ::usleep(static_cast<useconds_t>(random() % 8000));
    const size_t which = random() % writers.size();
    ASSERT_EQ(::kill(writers[which], SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(writers[which], &status, 0), writers[which]);
    ASSERT_TRUE(WIFSIGNALED(status)) << "a writer ended by itself with " << WEXITSTATUS(status);
    writers[which] = start_writer(folder, random());
  }
  for (const pid_t writer : writers) {
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
  }

  CacheReport report;
  ASSERT_TRUE(verify_cache(folder.path("caches"), id_of(1).to_string(), {}, report).ok());
  EXPECT_EQ(report.damaged_count, 0u) << report.damaged[0].where << ": " << report.damaged[0].what;

  const auto cache = open_cache(options_of(folder));
  ASSERT_TRUE(cache.ok());
  const uint64_t before = (*cache)->stats().disk.entries;
  EXPECT_GT(before, 100u);
  EXPECT_EQ(report.entries, before) << "an entry is there once";
  for (uint64_t n = 0; n < kEntries; ++n) {
    if (!looked_up(**cache, id_of(n))) (*cache)->put(id_of(n), shared_columns(n, 10), 0.01);
  }
  EXPECT_GE((*cache)->stats().disk.entries, before);
  uint64_t right = 0;
  for (uint64_t n = 0; n < kEntries; ++n) {
    const auto columns = looked_up(**cache, id_of(n));
    if (!columns) continue;
    ASSERT_TRUE(same_columns(*columns, columns_of_seed(n, 10)));
    ++right;
  }
  EXPECT_EQ(right, (*cache)->stats().disk.entries);
  EXPECT_LE(watcher.largest(), kBudget);
  EXPECT_GT(watcher.looks(), 0u);
}

TEST(CacheCrashes, TwoProcessesFillOnePlaceTogetherWithoutWritingAnythingTwice) {
  const ScratchFolder folder;
  std::vector<pid_t> writers;
  for (uint64_t seed = 0; seed < 2; ++seed) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto cache = open_cache(options_of(folder));
      if (!cache.ok()) ::_exit(10);
      for (uint64_t n = 0; n < 1000; ++n) {  // both in one order, as jobs of one seed go
        if (!looked_up(**cache, id_of(n))) (*cache)->put(id_of(n), shared_columns(n, 10), 0.01);
      }
      ::_exit(0);
    }
    writers.push_back(child);
  }
  for (const pid_t writer : writers) {
    int status = 1;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    EXPECT_EQ(status, 0);
  }
  const auto places = list_caches(folder.path("caches"));
  ASSERT_TRUE(places.ok());
  ASSERT_EQ(places->size(), 1u);
  CacheReport report;
  ASSERT_TRUE(verify_cache(folder.path("caches"), places->front().name, {}, report).ok());
  EXPECT_EQ(report.damaged_count, 0u);
  EXPECT_EQ(report.entries, places->front().entries) << "no entry is there twice";
  EXPECT_GT(report.entries, 900u);
}

}  // namespace
}  // namespace forebay
