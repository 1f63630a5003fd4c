#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "loader/loader_test_support.h"

namespace forebay::tests {
namespace {

using namespace loader_test;

struct Case {
  int64_t n = 1, world_size = 1, batch = 1;
  std::string last;
  bool shuffled = true;
  std::string name() const {
    return "n " + std::to_string(n) + ", world " + std::to_string(world_size) + ", batch " + std::to_string(batch) +
           ", " + last + (shuffled ? "" : ", in order");
  }
};

std::vector<Case> cases() {
  std::vector<Case> list;
  // The corners, then draws from the whole range.
  for (const char* last : {"partial", "drop", "pad"}) {
    for (const int64_t n : {1, 2, 7, 64, 65}) {
      for (const int64_t world_size : {1, 2, 16}) {
        for (const int64_t batch : {1, 4, 64}) list.push_back({n, world_size, batch, last, n != 7});
      }
    }
  }
  std::mt19937_64 random(20);
  while (list.size() < 235) {
    const char* last[] = {"partial", "drop", "pad"};
    list.push_back({1 + static_cast<int64_t>(random() % 2000), 1 + static_cast<int64_t>(random() % 16),
                    1 + static_cast<int64_t>(random() % 100), last[random() % 3], random() % 4 != 0});
  }
  return list;
}

Pipeline pipeline_of(const Case& c) {
  const Pipeline source = arrays({{"x", counting(c.n)}});
  return (c.shuffled ? source.shuffle() : source).batch(c.batch, {.last = c.last});
}

// Batches of all ranks of one epoch, rank by rank.
std::vector<std::vector<Batch>> epoch_of_ranks(const Case& c, int64_t epoch) {
  std::vector<std::vector<Batch>> ranks;
  for (int64_t rank = 0; rank < c.world_size; ++rank) {
    const auto loader =
        opened(pipeline_of(c), {.seed = 11,
                                .job = {.rank = static_cast<int>(rank), .world_size = static_cast<int>(c.world_size)},
                                .resources = {.threads = 1}});
    EXPECT_TRUE(loader->set_epoch(epoch).ok());
    const int64_t announced = loader->batches_per_epoch();
    ranks.push_back(announced == 0 ? std::vector<Batch>() : epoch_of(*loader));
    EXPECT_EQ(static_cast<int64_t>(ranks.back().size()), announced) << c.name();
  }
  return ranks;
}

TEST(ExactlyOnce, exactly_once_equal_steps) {
  for (const Case& c : cases()) {
    const int64_t epoch = c.n % 3;
    const auto ranks = epoch_of_ranks(c, epoch);
    const int64_t global = c.batch * c.world_size;
    const int64_t whole = c.last == "drop" ? c.n / global * global : c.n;
    const int64_t steps = c.last == "drop" ? c.n / global : (c.n + global - 1) / global;

    Case alone = c;
    alone.world_size = 1;
    alone.last = "partial";
    const std::vector<int64_t> order = ids_of(epoch_of_ranks(alone, epoch)[0]);

    std::vector<int64_t> joined;
    for (int64_t step = 0; step < steps; ++step) {
      int64_t fewest = INT64_MAX, most = 0;
      for (const std::vector<Batch>& batches : ranks) {
        ASSERT_EQ(static_cast<int64_t>(batches.size()), steps) << c.name();
        const Batch& batch = batches[static_cast<size_t>(step)];
        EXPECT_EQ(batch.step, step);
        EXPECT_EQ(batch.epoch, epoch);
        EXPECT_GE(batch.size(), 1);
        EXPECT_LE(batch.size(), c.batch);
        fewest = std::min(fewest, batch.size());
        most = std::max(most, batch.size());
        for (int64_t row = 0; row < batch.size(); ++row) {
          const int64_t id = batch.ids[static_cast<size_t>(row)];
          EXPECT_EQ(batch.find("x")->values.data<int64_t>()[row], id) << "the sample that the id says";
          if (row < batch.size() - batch.padding) joined.push_back(id);
        }
        if (c.last != "partial" || step + 1 < steps) {
          EXPECT_EQ(batch.size(), c.batch) << c.name();
        }
        if (c.last == "drop") {
          EXPECT_EQ(batch.padding, 0);
        }
      }
      EXPECT_LE(most - fewest, 1) << c.name();
    }
    ASSERT_EQ(static_cast<int64_t>(joined.size()), whole) << c.name();
    ASSERT_TRUE(std::equal(joined.begin(), joined.end(), order.begin()))
        << "ranks joined give the global order: " << c.name();
    std::sort(joined.begin(), joined.end());
    EXPECT_EQ(std::adjacent_find(joined.begin(), joined.end()), joined.end()) << "nothing twice: " << c.name();
  }
}

TEST(ExactlyOnce, every_epoch_is_another_permutation_and_no_shuffle_is_none) {
  std::vector<std::vector<int64_t>> orders;
  const auto loader = opened(arrays({{"x", counting(200)}}).shuffle().batch(32), {.epochs = 4});
  for (int epoch = 0; epoch < 4; ++epoch) orders.push_back(ids_of(epoch_of(*loader)));
  for (size_t i = 0; i < orders.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(orders[i], orders[j]);
  }
}

}  // namespace
}  // namespace forebay::tests
