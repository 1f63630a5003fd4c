#include "plan/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plan/pass_end.h"

namespace forebay {
namespace {

std::unique_ptr<Order> blockwise(std::vector<int64_t> chunk_rows, int64_t block, int64_t lanes) {
  return blockwise_order({std::move(chunk_rows), block, lanes, 7}).value();
}

struct Case {
  const char* name;
  std::function<std::unique_ptr<Order>()> make;
};

// Tests every promise of the interface with every order.
class OrderConformanceTest : public testing::TestWithParam<Case> {};

TEST_P(OrderConformanceTest, every_id_once_and_back) {
  const auto order = GetParam().make();
  for (int64_t epoch : {0, 1, 2, 1000}) {
    std::vector<bool> seen(static_cast<size_t>(order->size()));
    for (int64_t position = 0; position < order->size(); ++position) {
      const int64_t id = order->id_at(epoch, position);
      ASSERT_TRUE(id >= 0 && id < order->size());
      ASSERT_FALSE(seen[static_cast<size_t>(id)]) << "id " << id << " twice in epoch " << epoch;
      seen[static_cast<size_t>(id)] = true;
      ASSERT_EQ(order->position_of(epoch, id), position);
    }
  }
}

TEST_P(OrderConformanceTest, in_bulk_as_one_by_one) {
  const auto order = GetParam().make();
  for (int64_t begin = 0; begin <= order->size(); begin += 1 + order->size() / 23) {
    for (int64_t count : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{300}, order->size()}) {
      std::vector<int64_t> ids(static_cast<size_t>(std::min(count, order->size() - begin)));
      order->ids_at(3, begin, ids);
      for (size_t i = 0; i < ids.size(); ++i) {
        ASSERT_EQ(ids[i], order->id_at(3, begin + static_cast<int64_t>(i))) << begin << " + " << i;
      }
      std::vector<int64_t> positions(ids.size());
      order->positions_of(3, ids, positions);
      for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(positions[i], begin + static_cast<int64_t>(i));
    }
  }
}

TEST_P(OrderConformanceTest, next_use_is_the_first_appearance_from_there_on) {
  const auto order = GetParam().make();
  for (int64_t id = 0; id < order->size(); id += 1 + order->size() / 31) {
    const int64_t here = order->position_of(4, id), next = order->position_of(5, id);
    EXPECT_EQ(order->next_use(id, 4, 0), (Order::Use{4, here}));
    EXPECT_EQ(order->next_use(id, 4, here), (Order::Use{4, here}));
    EXPECT_EQ(order->next_use(id, 4, here + 1), (Order::Use{5, next}));
  }
}

TEST_P(OrderConformanceTest, positions_read_together_agree_on_it) {
  const auto order = GetParam().make();
  for (int64_t position = 0; position < order->size(); position += 1 + order->size() / 41) {
    const Order::Range range = order->read_together(2, position);
    bool inside = false;
    for (int64_t i = 0; i < range.count; ++i) {
      const int64_t other = range.first + i * range.step;
      ASSERT_TRUE(other >= 0 && other < order->size());
      inside |= other == position;
      if (i % 13 != 0) continue;
      ASSERT_EQ(order->read_together(2, other).first, range.first);
    }
    EXPECT_TRUE(inside);
  }
}

// Uses more threads and epochs than any order caches lines for.
TEST_P(OrderConformanceTest, threads_and_objects_agree) {
  const auto shared = GetParam().make();
  if (shared->size() == 0) return;
  std::atomic<int64_t> wrong = 0;
  std::vector<std::thread> threads;
  for (int64_t worker = 0; worker < 4; ++worker) {
    threads.emplace_back([&, worker] {
      const auto own = GetParam().make();
      for (int64_t i = 0; i < 400; ++i) {
        const int64_t epoch = (i / 7 + worker) % 6, position = i * 31 % shared->size();
        if (shared->id_at(epoch, position) != own->id_at(epoch, position)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

const std::vector<Case> kCases{
    {"empty_sequential", [] { return sequential_order(0); }},
    {"sequential", [] { return sequential_order(1000); }},
    {"empty_shuffled", [] { return shuffled_order(0, 7); }},
    {"one", [] { return shuffled_order(1, 7); }},
    {"table", [] { return shuffled_order(64, 7); }},
    {"smallest_network", [] { return shuffled_order(65, 7); }},
    {"shuffled", [] { return shuffled_order(2100, 7); }},
    {"empty_blockwise", [] { return blockwise({}, 8, 1); }},
    {"empty_chunks", [] { return blockwise({0, 0}, 8, 3); }},
    {"one_chunk", [] { return blockwise({100}, 8, 1); }},
    {"one_chunk_many_lanes", [] { return blockwise({100}, 8, 7); }},
    {"fewer_rows_than_lanes", [] { return blockwise({3, 2}, 2, 9); }},
    {"equal_chunks", [] { return blockwise(std::vector<int64_t>(50, 20), 8, 1); }},
    {"equal_chunks_and_lanes", [] { return blockwise(std::vector<int64_t>(48, 20), 4, 4); }},
    {"uneven", [] { return blockwise({1, 500, 0, 3, 70, 2, 2, 2, 250, 9, 0, 41, 100}, 3, 5); }},
    {"single_rows", [] { return blockwise(std::vector<int64_t>(333, 1), 8, 2); }},
    {"no_mixing", [] { return blockwise(std::vector<int64_t>(10, 33), 1, 3); }},
    {"all_mixed", [] { return blockwise(std::vector<int64_t>(10, 33), INT64_MAX, 3); }},
    {"lanes_beyond_all", [] { return blockwise({5, 5}, 1, INT64_MAX); }},
    {"grown", [] { return grown_order(shuffled_order(900, 7), 3, shuffled_order(1000, 7)); }},
    {"grown_from_nothing", [] { return grown_order(shuffled_order(0, 7), 2, shuffled_order(10, 7)); }},
    {"grown_chunks", [] { return grown_order(blockwise({20, 9, 31}, 2, 3), 2, blockwise({20, 9, 31, 8, 4}, 2, 3)); }},
};

INSTANTIATE_TEST_SUITE_P(Orders, OrderConformanceTest, testing::ValuesIn(kCases),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

TEST(OrderTest, sequential_is_by_id) {
  const auto order = sequential_order(10);
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(order->id_at(i, i), i);
}

TEST(OrderTest, a_pass_of_samples_that_grew_ends_as_it_was) {
  const std::shared_ptr<const Order> before = blockwise({20, 9, 31}, 2, 3), now = blockwise({20, 9, 31, 8, 4}, 2, 3);
  const auto grown = grown_order(before, 4, now);
  for (int64_t p = 0; p < 60; ++p) {
    EXPECT_EQ(grown->id_at(4, p + 12), before->id_at(4, p));
    EXPECT_EQ(grown->chunks_together(4, p + 12), before->chunks_together(4, p));
    EXPECT_EQ(grown->read_together(4, p + 12).count, before->read_together(4, p).count);
  }
  for (int64_t p = 0; p < 72; ++p) EXPECT_EQ(grown->id_at(5, p), now->id_at(5, p));
}

TEST(OrderTest, epochs_and_seeds_differ) {
  const auto one = shuffled_order(1000, 1), two = shuffled_order(1000, 2);
  int64_t same_epoch = 0, same_seed = 0;
  for (int64_t p = 0; p < 1000; ++p) {
    same_epoch += one->id_at(0, p) == one->id_at(1, p);
    same_seed += one->id_at(0, p) == two->id_at(0, p);
  }
  EXPECT_LT(same_epoch, 8);
  EXPECT_LT(same_seed, 8);
}

}  // namespace
}  // namespace forebay
