#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "forebay/ledger.h"
#include "pictures.h"

namespace forebay::tests {
namespace {

TEST(Storms, seeking_at_random_gives_what_a_straight_run_gives) {
  const GeneratedPictures pictures(50, 64);
  const Pipeline pipeline = training(images(pictures.path()), 16, 8);
  constexpr int kEpochs = 4;
  const auto straight = opened(pipeline, {.seed = 9, .epochs = kEpochs});
  std::vector<std::string> states, digests;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    while (true) {
      const std::string state = straight->state();
      Result<std::optional<Batch>> batch = straight->next();
      ASSERT_TRUE(batch.ok());
      if (!*batch) break;
      states.push_back(state);
      EpochDigest digest;
      digest.add(**batch);
      digests.push_back(digest.to_string());
    }
  }
  ASSERT_EQ(states.size(), 7u * kEpochs);
  for (const char* latency : {"0", "0.5"}) {
    const auto loader =
        opened(pipeline, {.seed = 9,
                          .epochs = kEpochs,
                          .resources = {.threads = 3, .memory = 1 << 20},
                          .storage_options = {{"imitate_latency_ms", latency}, {"imitate_jitter_ms", "1"}}});
    std::mt19937 random(1);
    size_t at = 0;
    for (int i = 0; i < (kSanitized ? 60 : 300); ++i) {
      switch (random() % 4) {
        case 0:
          at = random() % states.size();
          ASSERT_TRUE(loader->load_state(states[at]).ok());
          break;
        case 1: {
          const auto epoch = static_cast<int64_t>(random() % kEpochs);
          if (loader->epoch() != epoch) at = static_cast<size_t>(7 * epoch);
          ASSERT_TRUE(loader->set_epoch(epoch).ok());
          break;
        }
        default: {
          if (at == states.size()) break;
          loader->begin_iteration();
          Result<std::optional<Batch>> batch = loader->next();
          ASSERT_TRUE(batch.ok()) << batch.status().to_string();
          ASSERT_TRUE(*batch);
          EpochDigest digest;
          digest.add(**batch);
          ASSERT_EQ(digest.to_string(), digests[at]) << "batch " << at;
          ++at;
        }
      }
    }
    EXPECT_LE(loader->stats().memory_peak, uint64_t{1} << 20);
  }
}

TEST(Storms, many_loaders_at_once) {
  const GeneratedPictures pictures(40, 64);
  const Pipeline pipeline = training(images(pictures.path()), 16, 8);
  const std::string expected = digest_of(epoch_of(*opened(pipeline, {.seed = 2, .epochs = 1})));
  std::vector<std::thread> users;
  std::vector<std::string> digests(8);
  for (size_t i = 0; i < digests.size(); ++i) {
    users.emplace_back([&, i] {
      LoaderOptions options{.seed = 2, .epochs = 1, .resources = {.threads = 1 + static_cast<int>(i % 3)}};
      if (i % 2 == 0) options.storage_options = {{"imitate_latency_ms", "0.2"}};
      for (int round = 0; round < 3; ++round) digests[i] = digest_of(epoch_of(*opened(pipeline, options)));
    });
  }
  for (std::thread& user : users) user.join();
  for (const std::string& digest : digests) EXPECT_EQ(digest, expected);
}

TEST(Storms, stats_and_errors_may_be_read_from_any_thread) {
  const GeneratedPictures pictures(40, 64);
  const auto loader =
      opened(images(pictures.path())
                 .filter([](const Sample& sample) -> Result<bool> { return sample.at("key").buffer.size() > 0; },
                         {.fields = {"key"}})
                 .map([](Sample& sample)
                          -> Status { return *sample.at("label").data<int64_t>() == 1 ? corrupt("one") : Status(); },
                      {.fields = {"label"}})
                 .decode_image()
                 .resize(ImageSize{16})
                 .batch(8),
             {.epochs = 5, .resources = {.threads = 2}, .errors = {.on_error = OnError::kSkip}});
  std::atomic<bool> over = false;
  std::vector<std::thread> watchers;
  for (int i = 0; i < 2; ++i) {
    watchers.emplace_back([&] {
      while (!over) {
        (void)loader->stats();
        (void)loader->errors();
        (void)loader->closed();
        std::this_thread::yield();
      }
    });
  }
  for (int epoch = 0; epoch < 5; ++epoch) (void)epoch_of(*loader);
  over = true;
  for (std::thread& watcher : watchers) watcher.join();
  EXPECT_EQ(loader->errors().size(), 13u);
  EXPECT_EQ(loader->stats().errors, 5 * 13);
}

}  // namespace
}  // namespace forebay::tests
