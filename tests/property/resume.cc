#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <random>

#include "base/hash.h"
#include "loader/loader_test_support.h"

namespace forebay::tests {
namespace {

using namespace loader_test;

// Random numbers are drawn, so that a resume that loses them is seen.
Pipeline pictures(int64_t n, int64_t batch, const char* last = "partial") {
  Tensor pixels = Tensor::allocate(DType::kUint8, {n, 12, 12, 3});
  for (size_t i = 0; i < pixels.nbytes(); ++i) pixels.buffer.data()[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
  return arrays({{"image", {pixels, ""}}, {"x", counting(n)}})
      .shuffle()
      .random_crop(6)
      .random_flip()
      .batch(batch, {.last = last});
}

TEST(Resume, resume_after_every_batch) {
  for (const char* last : {"partial", "drop", "pad"}) {
    const Pipeline pipeline = pictures(53, 4, last);
    const auto straight = opened(pipeline, {.seed = 3, .epochs = 3});
    std::vector<std::string> states = {straight->state()}, digests;
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (std::optional<Batch> batch; (batch = *straight->next());) {
        states.push_back(straight->state());
        digests.push_back(digest_of({*batch}));
        ASSERT_LT(states.back().size(), 1024u);
      }
    }
    for (size_t done = 0; done < states.size(); ++done) {
      const auto loader =
          opened(pipeline, {.seed = 3, .epochs = 3, .resources = {.threads = 1 + static_cast<int>(done % 3)}});
      ASSERT_TRUE(loader->load_state(states[done]).ok());
      EXPECT_EQ(loader->state(), states[done]);
      size_t at = done;
      for (int tries = 0; tries < 4; ++tries) {
        for (std::optional<Batch> batch; (batch = *loader->next()); ++at) {
          ASSERT_LT(at, digests.size());
          ASSERT_EQ(digest_of({*batch}), digests[at]) << last << ": resumed after " << done << " batches";
        }
      }
      EXPECT_EQ(at, digests.size());
    }
  }
}

// `steps` steps of all ranks from a state, joined in the global order; the state of every rank afterwards is the same.
struct Joined {
  std::vector<int64_t> ids;
  std::vector<std::string> samples;
  std::string state;
};

Joined go_on(const std::string& state, int64_t n, int world_size, int64_t batch, int64_t steps) {
  std::vector<std::vector<Batch>> ranks;
  Joined joined;
  for (int rank = 0; rank < world_size; ++rank) {
    const auto loader =
        opened(pictures(n, batch),
               {.seed = 3, .job = {.rank = rank, .world_size = world_size}, .resources = {.threads = 1 + rank % 2}});
    if (!state.empty()) {
      EXPECT_TRUE(loader->load_state(state).ok());
    }
    ranks.emplace_back();
    for (int64_t step = 0; step < steps; ++step) {
      std::optional<Batch> next = *loader->next();
      if (!next) break;
      ranks.back().push_back(std::move(*next));
    }
    if (rank == 0) joined.state = loader->state();
    EXPECT_EQ(loader->state(), joined.state) << "states are the same on every rank";
  }
  for (size_t step = 0; step < ranks[0].size(); ++step) {
    for (const std::vector<Batch>& batches : ranks) {
      EXPECT_EQ(batches.size(), ranks[0].size());
      const Batch& each = batches[step];
      for (int64_t row = 0; row < each.size() - each.padding; ++row) {
        joined.ids.push_back(each.ids[static_cast<size_t>(row)]);
        const std::span<const uint8_t> bytes = each.find("image")->row(row);
        joined.samples.push_back(hash128(bytes.data(), bytes.size()).to_string());
      }
    }
  }
  return joined;
}

TEST(Resume, other_ranks_and_batch_sizes_go_on_exactly_where_the_others_stopped) {
  constexpr int64_t kSamples = 400;
  const Joined expected = go_on("", kSamples, 1, 7, 1000);
  ASSERT_EQ(expected.ids.size(), size_t{kSamples});
  const Joined three = go_on("", kSamples, 3, 8, 4);
  const Joined two = go_on(three.state, kSamples, 2, 11, 5);
  const Joined five = go_on(two.state, kSamples, 5, 3, 1000);
  Joined all;
  for (const Joined& part : {three, two, five}) {
    all.ids.insert(all.ids.end(), part.ids.begin(), part.ids.end());
    all.samples.insert(all.samples.end(), part.samples.begin(), part.samples.end());
  }
  EXPECT_EQ(all.ids, expected.ids);
  EXPECT_EQ(all.samples, expected.samples) << "with the same random numbers";
}

TEST(Resume, a_resume_in_the_last_epoch_of_any_position) {
  std::mt19937_64 random(4);
  const Joined expected = go_on("", 300, 1, 16, 1000);
  for (int round = 0; round < 10; ++round) {
    const auto world = 1 + static_cast<int>(random() % 6), other = 1 + static_cast<int>(random() % 6);
    const auto batch = 1 + static_cast<int64_t>(random() % 20), other_batch = 1 + static_cast<int64_t>(random() % 20);
    const int64_t most = 300 / (world * batch);
    const Joined begun =
        go_on("", 300, world, batch, most == 0 ? 0 : static_cast<int64_t>(random() % static_cast<uint64_t>(most)));
    const Joined rest = go_on(begun.state, 300, other, other_batch, 1000);
    std::vector<int64_t> ids = begun.ids;
    ids.insert(ids.end(), rest.ids.begin(), rest.ids.end());
    EXPECT_EQ(ids, expected.ids) << world << "×" << batch << " → " << other << "×" << other_batch;
  }
}

TEST(Resume, costs_the_same_at_every_position) {
  constexpr int64_t kSamples = 1'280'000, kBatch = 256;
  const Pipeline pipeline = arrays({{"x", counting(kSamples)}}).shuffle().batch(kBatch);
  const std::string begin = opened(pipeline)->state();
  for (const int percent : {1, 50, 99}) {
    const int64_t step = kSamples / kBatch * percent / 100;
    std::string state = begin;
    const auto put = [&](const std::string& name, int64_t value) {
      const std::string old = "\"" + name + "\":0";
      const size_t at = state.find(old);
      ASSERT_NE(at, std::string::npos);
      state.replace(at, old.size(), "\"" + name + "\":" + std::to_string(value));
    };
    put("position", step * kBatch);
    put("step", step);
    double best_ms = 1e9;
    for (int tries = 0; tries < 5; ++tries) {
      const auto loader = opened(pipeline, {.resources = {.threads = 2}});
      const auto begun = std::chrono::steady_clock::now();
      ASSERT_TRUE(loader->load_state(state).ok());
      const std::optional<Batch> batch = *loader->next();
      best_ms = std::min(best_ms,
                         std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count());
      ASSERT_TRUE(batch);
      EXPECT_EQ(batch->step, step);
      EXPECT_EQ(batch->positions.front(), step * kBatch);
    }
    std::printf("%d %% of the epoch: next batch after %.2f ms\n", percent, best_ms);
    EXPECT_LT(best_ms, 100);
  }
}

}  // namespace
}  // namespace forebay::tests
