#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "plan/node.h"
#include "plan/node_conformance.h"
#include "plan/test_nodes.h"

namespace forebay {
namespace {

constexpr int64_t kWindow = 1024;

std::unique_ptr<PlanNode> united(const std::vector<int64_t>& sizes, uint64_t seed = 7) {
  return shuffled_union_node(shuffled_leaves(sizes), seed);
}

TEST(ShuffledUnionNodeTest, conforms) {
  for (const auto& sizes : std::vector<std::vector<int64_t>>{{},
                                                             {5},
                                                             {0, 0},
                                                             {1, 1},
                                                             {0, 5, 0},
                                                             {1023, 1},
                                                             {3000, 3},
                                                             {3, 3000},
                                                             {700, 0, 1, 300, 23},
                                                             {1, 2, 3, 4, 5, 6, 7, 8, 900, 10, 11}})
    expect_conforms(*united(sizes), 3);
}

TEST(ShuffledUnionNodeTest, is_mixed) {
  const std::vector<int32_t> leaves = leaves_of(*united({4000, 4000}), 0);
  int64_t changes = 0;
  for (size_t i = 1; i < leaves.size(); ++i) changes += leaves[i] != leaves[i - 1] ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(changes), 4000, 4 * std::sqrt(2000.0));
}

TEST(ShuffledUnionNodeTest, each_draw_of_an_epoch_of_each_child_once) {
  const std::vector<int64_t> sizes = {700, 0, 1, 3000, 23};
  const auto node = united(sizes);
  ASSERT_EQ(node->size(), 3724);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<int64_t> counts(sizes.size());
    std::vector<Draw> draws(static_cast<size_t>(node->size()));
    node->draws(epoch, 0, draws);
    for (const Draw& draw : draws) {
      EXPECT_EQ(draw.pass, epoch);
      ++counts[static_cast<size_t>(draw.leaf)];
    }
    EXPECT_EQ(counts, sizes);
  }
}

// Checks the distance from the share at the end of every window of an epoch.
void expect_shares(const std::vector<int64_t>& sizes) {
  const auto node = united(sizes);
  const double bound = std::log2(static_cast<double>(sizes.size())) + 1;
  for (int64_t end = kWindow; end < node->size(); end += kWindow) {
    for (size_t leaf = 0; leaf < sizes.size(); ++leaf) {
      if (sizes[leaf] == 0) continue;
      const double share =
          static_cast<double>(end) * static_cast<double>(sizes[leaf]) / static_cast<double>(node->size());
      const Order::Use draw = node->next_draw(leaf, {2, end});
      const auto count = static_cast<double>((draw.epoch - 2) * sizes[leaf] + draw.position);
      ASSERT_LE(std::abs(count - share), bound) << "leaf " << leaf << " at " << end;
    }
  }
}

TEST(ShuffledUnionNodeTest, shares_at_the_end_of_each_window) {
  expect_shares({100'000, 100'000});
  expect_shares({3, 250'000, 10});
  expect_shares({1000, 0, 77'777, 5, 20'000, 31'000, 64'000, 2});
  std::vector<int64_t> many;
  for (int64_t child = 0; child < 1000; ++child) many.push_back(child * child % 997);
  expect_shares(many);
}

TEST(ShuffledUnionNodeTest, three_samples_beside_ten_million) {
  const int64_t large = 10'000'000;
  const auto node = united({large, 3});
  std::vector<Draw> draws(5000);
  std::vector<int64_t> found;
  int64_t next = 0;
  for (int64_t begin = 0; begin < node->size(); begin += 5000) {
    const auto count = static_cast<size_t>(std::min<int64_t>(5000, node->size() - begin));
    node->draws(1, begin, {draws.data(), count});
    for (size_t i = 0; i < count; ++i) {
      if (draws[i].leaf == 1) {
        found.push_back(begin + static_cast<int64_t>(i));
      } else {
        ASSERT_EQ(draws[i].place, next++);
      }
    }
  }
  EXPECT_EQ(next, large);
  ASSERT_EQ(found.size(), 3);
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_EQ(node->position_of(1, {1, i}), (Order::Use{1, found[static_cast<size_t>(i)]}));
  // A third of the epoch lies between two of them, to two windows.
  for (size_t i = 1; i < 3; ++i)
    EXPECT_NEAR(static_cast<double>(found[i] - found[i - 1]), static_cast<double>(large) / 3, 2 * kWindow);
}

TEST(ShuffledUnionNodeTest, a_small_child_comes_anywhere_in_an_epoch) {
  const auto node = united({1000 * kWindow - 1, 1});
  std::vector<int64_t> windows;
  for (int64_t epoch = 0; epoch < 1000; ++epoch) windows.push_back(node->position_of(1, {epoch, 0}).position / kWindow);
  // Means of 1,000 uniform numbers, to four deviations.
  const double mean = std::accumulate(windows.begin(), windows.end(), 0.0) / 1000;
  EXPECT_NEAR(mean, 499.5, 4 * 1000 / std::sqrt(12.0 * 1000));
  std::sort(windows.begin(), windows.end());
  EXPECT_NEAR(static_cast<double>(std::unique(windows.begin(), windows.end()) - windows.begin()), 632, 4 * 10);
}

TEST(ShuffledUnionNodeTest, a_thousand_children) {
  std::vector<int64_t> sizes;
  for (int64_t child = 0; child < 1000; ++child) sizes.push_back(child % 4);
  expect_conforms(*united(sizes), 1);
}

TEST(ShuffledUnionNodeTest, no_two_windows_are_arranged_alike) {
  const auto node = united({kWindow * 8, kWindow * 8});
  std::vector<std::vector<int32_t>> windows;
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    const std::vector<int32_t> leaves = leaves_of(*node, epoch);
    for (auto begin = leaves.begin(); begin != leaves.end(); begin += kWindow)
      windows.emplace_back(begin, begin + kWindow);
  }
  // Two arrangements of two halves agree at half of the places, give or take four deviations of 16.
  for (size_t i = 0; i < windows.size(); ++i) {
    for (size_t j = 0; j < i; ++j)
      EXPECT_NEAR(static_cast<double>(differences(windows[i], windows[j])), 512, 80) << i << " " << j;
  }
}

// States of runs rely on it.
TEST(ShuffledUnionNodeTest, draws_never_change) {
  const std::vector<int32_t> leaves = leaves_of(*united({1000, 600, 400}), 3);
  EXPECT_EQ((std::vector<int32_t>(leaves.begin() + 1500, leaves.begin() + 1524)),
            (std::vector<int32_t>{2, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2}));
}

TEST(ShuffledUnionNodeTest, seeds_differ) {
  EXPECT_GT(differences(leaves_of(*united({2000, 2000}, 1), 0), leaves_of(*united({2000, 2000}, 2), 0)), 1800);
  EXPECT_EQ(leaves_of(*united({2000, 2000}, 1), 0), leaves_of(*united({2000, 2000}, 1), 0));
}

TEST(ShuffledUnionNodeTest, another_child_changes_no_order_of_a_child) {
  const auto two = united({2000, 500}), three = united({2000, 500, 800});
  for (const int32_t leaf : {0, 1}) EXPECT_EQ(samples_of(*two, leaf, 3), samples_of(*three, leaf, 3));
}

// 2^20 epochs of 2^40 draws, at their end.
TEST(ShuffledUnionNodeTest, large_numbers) {
  const int64_t all = int64_t{1} << 40, epoch = (int64_t{1} << 20) - 1;
  const auto node = united({all / 2, 12'345, all / 4 - 12'345, all / 4 - 3, 3});
  ASSERT_EQ(node->size(), all);
  for (const int64_t begin : {int64_t{0}, all / 3, all - 3000}) {
    std::vector<Draw> draws(3000);
    node->draws(epoch, begin, draws);
    for (size_t i = 0; i < draws.size(); i += 7) {
      const auto leaf = static_cast<size_t>(draws[i].leaf);
      const Order::Use at{epoch, begin + static_cast<int64_t>(i)}, draw{draws[i].pass, draws[i].place};
      ASSERT_EQ(draws[i].pass, epoch);
      ASSERT_EQ(node->next_draw(leaf, at), draw);
      ASSERT_EQ(node->position_of(leaf, draw), at);
    }
  }
  for (const int64_t place : {0, 1, 2}) {
    const Order::Use at = node->position_of(4, {epoch, place});
    EXPECT_EQ(node->next_draw(4, at), (Order::Use{epoch, place}));
    EXPECT_EQ(at.epoch, epoch);
  }
}

TEST(ShuffledUnionNodeTest, several_threads_get_the_same_draws) {
  const auto node = united({20'000, 300, 9000});
  const std::vector<Draw> expected = walk(*united({20'000, 300, 9000}), 1);
  std::vector<std::vector<Draw>> got(4, std::vector<Draw>(expected.size()));
  {
    std::vector<std::jthread> threads;
    for (std::vector<Draw>& draws : got) {
      threads.emplace_back([&node, &draws] {
        for (size_t begin = 0; begin < draws.size(); begin += 100)
          node->draws(0, static_cast<int64_t>(begin),
                      std::span(draws).subspan(begin, std::min<size_t>(100, draws.size() - begin)));
      });
    }
  }
  for (const std::vector<Draw>& draws : got) EXPECT_TRUE(draws == expected);
}

}  // namespace
}  // namespace forebay
