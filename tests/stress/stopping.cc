#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <semaphore>
#include <thread>

#include "forebay/ledger.h"
#include "pictures.h"

namespace forebay::tests {
namespace {

using namespace std::chrono_literals;

LoaderOptions behind(double latency_ms, double jitter_ms = 0, int threads = 2) {
  LoaderOptions options;
  options.resources.threads = threads;
  options.storage_options = {{"imitate_latency_ms", std::to_string(latency_ms)},
                             {"imitate_jitter_ms", std::to_string(jitter_ms)}};
  return options;
}

// A link over which listings arrive at once and objects never: a test that waits for storage hangs.
LoaderOptions without_bandwidth(int threads = 2) {
  LoaderOptions options;
  options.resources.threads = threads;
  options.storage_options = {{"imitate_bandwidth_bytes_per_s", "0.001"}};
  return options;
}

// Waits until the loader has read requests in flight, so that a consumer waits for storage.
void wait_for_reads(const Loader& loader) {
  EXPECT_TRUE(eventually([&] {
    const Ledger ledger = loader.stats();
    return !ledger.stores.empty() && ledger.stores.front().in_flight > 0;
  }));
}

class Stopping : public testing::Test {
 protected:
  const GeneratedPictures pictures_{40, 64};
  const Pipeline pipeline_ = training(images(pictures_.path()), 16, 8);
};

TEST_F(Stopping, close_from_another_thread_ends_a_wait_for_storage) {
  for (int round = 0; round < 3; ++round) {
    const auto loader = opened(pipeline_, without_bandwidth());
    std::thread closer([&] {
      wait_for_reads(*loader);
      loader->close();
    });
    EXPECT_EQ(loader->next().status().code(), Code::kCancelled);
    closer.join();
    loader->close();
    EXPECT_EQ(loader->next().status().code(), Code::kInvalidArgument);
  }
}

TEST_F(Stopping, several_threads_may_close_at_any_moment) {
  for (int round = 0; round < (kSanitized ? 20 : 100); ++round) {
    const auto loader = opened(pipeline_, round % 2 == 0 ? behind(0.2, 0.5, 1 + round % 4)
                                                         : LoaderOptions{.resources = {.threads = 1 + round % 4}});
    std::atomic<int> taken = 0;
    std::vector<std::thread> closers;
    for (int i = 0; i < 2; ++i) {
      closers.emplace_back([&, i] {
        while (taken < round % 7) std::this_thread::yield();
        for (int looks = 0; looks < round % 5 + i; ++looks) (void)loader->stats();
        loader->close();
      });
    }
    Status status;
    while (status.ok()) {
      status = loader->next().status();
      ++taken;
      (void)loader->stats();
    }
    EXPECT_TRUE(status.code() == Code::kCancelled || status.code() == Code::kInvalidArgument) << status.to_string();
    for (std::thread& closer : closers) closer.join();
  }
}

TEST_F(Stopping, the_destructor_does_not_wait_for_reads_in_flight) {
  auto loader = opened(pipeline_, without_bandwidth());
  bool timed_out = false;
  EXPECT_TRUE(loader->next_for(20ms, &timed_out).ok());
  EXPECT_TRUE(timed_out);
  wait_for_reads(*loader);
  loader.reset();
}

TEST_F(Stopping, close_ends_the_pass_of_a_filter) {
  // The first filter needs no read and tells that the pass has begun. The second one never gets its
  // picture.
  std::atomic<bool> begun = false;
  const auto notes = [&](const Sample&) -> Result<bool> {
    begun = true;
    return true;
  };
  const auto loader = opened(images(pictures_.path())
                                 .filter(notes, {.fields = {"label"}})
                                 .filter([](const Sample&) -> Result<bool> { return true; }, {.fields = {"image"}})
                                 .select({"label"})
                                 .batch(4),
                             without_bandwidth());
  std::thread closer([&] {
    EXPECT_TRUE(eventually([&] { return begun.load(); }));
    loader->close();
  });
  EXPECT_EQ(loader->prepare().code(), Code::kCancelled);
  closer.join();
}

TEST_F(Stopping, a_map_function_that_throws_leaves_a_loader_that_goes_on) {
  const Pipeline pipeline = images(pictures_.path())
                                .shuffle()
                                .map(
                                    [](Sample& sample) -> Status {
                                      if (sample.at("key").buffer.data()[0] % 2 == 0)
                                        throw std::runtime_error("on purpose");
                                      return {};
                                    },
                                    {.fields = {"key"}})
                                .decode_image()
                                .resize(ImageSize{16})
                                .batch(1);
  const auto loader = opened(pipeline, {.epochs = 3, .resources = {.threads = 4}});
  int raised = 0, good = 0;
  while (true) {
    const Result<std::optional<Batch>> batch = loader->next();
    if (batch.ok() && !*batch && loader->finished()) break;
    if (!batch.ok()) {
      ASSERT_EQ(batch.status().code(), Code::kUser) << batch.status().to_string();
      ++raised;
    } else if (*batch) {
      ++good;
    }
  }
  EXPECT_EQ(raised + good, 3 * 40);
}

TEST_F(Stopping, a_map_function_that_does_not_return_is_left_behind) {
  if (kSanitized) GTEST_SKIP() << "what is left behind is reported as leaked";
  // Static, because the function outlives the loader and perhaps this test.
  static std::latch let_go(1);
  static std::counting_semaphore<64> returned(0);
  auto loader = opened(arrays({{"x", counting(10)}})
                           .map([](Sample&) -> Status {
                             let_go.wait();
                             returned.release();
                             return {};
                           })
                           .batch(2),
                       {.resources = {.threads = 2}});
  bool timed_out = false;
  (void)loader->next_for(20ms, &timed_out);
  loader.reset();
  let_go.count_down();
  returned.acquire();
}

// What the child says: 0 for a clear error in bounded time.
int child_of_a_fork(Loader& loader, const Pipeline& pipeline) {
  alarm(20);
  const Result<std::optional<Batch>> batch = loader.next();
  if (batch.status().code() != Code::kInvalidArgument) return 1;
  if (batch.status().message().find("fork") == std::string::npos) return 2;
  if (loader.load_state("{}").code() != Code::kInvalidArgument || loader.set_epoch(3).ok()) return 3;
  (void)loader.stats();
  (void)loader.state();
  (void)loader.fingerprint();
  (void)loader.batches_per_epoch();
  (void)loader.finished();
  (void)loader.epoch();
  (void)loader.errors();
  bool closed = false;
  (void)loader.take_call(1ms, &closed);
  loader.close();
  Result<std::unique_ptr<Loader>> fresh = Loader::open(pipeline, {.epochs = 1, .resources = {.threads = 2}});
  if (!fresh.ok()) return 4;
  int64_t samples = 0;
  while (true) {
    const Result<std::optional<Batch>> own = (*fresh)->next();
    if (!own.ok()) return 5;
    if (!*own) break;
    samples += (*own)->size();
  }
  return samples == 40 ? 0 : 6;
}

TEST_F(Stopping, the_child_of_a_fork_gets_a_clear_error_and_the_parent_goes_on) {
  if (kSanitized) GTEST_SKIP() << "the locks of a sanitizer's own allocator do not survive a fork";
  for (int round = 0; round < 30; ++round) {
    auto loader = opened(pipeline_, round % 2 == 0 ? behind(0.1, 0.4) : LoaderOptions{.resources = {.threads = 3}});
    std::vector<Batch> held;
    for (int i = 0; i < round % 4; ++i) held.push_back(std::move(**loader->next()));
    const pid_t child = fork();
    if (child == 0) {
      const int result = child_of_a_fork(*loader, pipeline_);
      held.clear();
      loader.reset();
      _exit(result);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "the child hung";
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(loader->next().ok());
  }
}

}  // namespace
}  // namespace forebay::tests
