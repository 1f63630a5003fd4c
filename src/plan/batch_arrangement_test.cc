#include "plan/batch_arrangement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace forebay {
namespace {

const PermutationKey kArrangement = PermutationKey::root(3, PermutationKey::Use::kBuckets);

// Most batches cost about 100, every tenth one less, and every 25th one more.
std::vector<double> costs(size_t count) {
  std::vector<double> costs;
  for (size_t i = 0; i < count; ++i) {
    const auto n = static_cast<double>(i);
    costs.push_back(i % 10 == 0 ? 50 + 40 * n / static_cast<double>(count) : i % 25 == 1 ? 120 : 100 + 0.01 * (n / 10));
  }
  return costs;
}

TEST(BatchArrangement, each_batch_comes_once) {
  for (const size_t count : {0, 1, 7, 8, 100, 1003}) {
    for (const int64_t group : {1, 8, 24}) {
      std::vector<uint32_t> order = arrange_batches(costs(count), group, kArrangement);
      std::ranges::sort(order);
      std::vector<uint32_t> all(count);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(order, all);
    }
  }
}

TEST(BatchArrangement, batches_of_a_group_cost_alike) {
  const std::vector<double> cost = costs(2400);
  const std::vector<uint32_t> order = arrange_batches(cost, 24, kArrangement);
  double widest = 0;
  for (size_t begin = 0; begin < order.size(); begin += 24) {
    std::vector<double> group;
    for (size_t i = begin; i < begin + 24; ++i) group.push_back(cost[order[i]]);
    const auto [least, most] = std::ranges::minmax(group);
    widest = std::max(widest, (most - least) / most);
  }
  // The groups of unlike costs are filled up once at each end.
  EXPECT_LT(widest, 0.17);
}

TEST(BatchArrangement, batches_of_like_cost_are_shuffled) {
  const std::vector<uint32_t> order = arrange_batches(std::vector<double>(1000, 5), 10, kArrangement);
  size_t neighbours = 0;
  for (size_t i = 1; i < order.size(); ++i) neighbours += order[i] == order[i - 1] + 1 ? 1 : 0;
  EXPECT_LT(neighbours, 10u);
  EXPECT_NE(order, arrange_batches(std::vector<double>(1000, 5), 10, kArrangement.child(1)));
}

TEST(BatchArrangement, groups_of_unlike_cost_come_anywhere) {
  std::set<size_t> begins;
  for (int64_t seed = 0; seed < 40; ++seed) {
    const std::vector<double> cost = costs(240);
    const std::vector<uint32_t> order = arrange_batches(cost, 8, kArrangement.child(seed));
    const auto least = std::ranges::min_element(order, {}, [&](uint32_t batch) { return cost[batch]; });
    const auto place = static_cast<size_t>(least - order.begin());
    EXPECT_EQ(place % 8, 0u);
    begins.insert(place);
  }
  EXPECT_GT(begins.size(), 15u);
}

}  // namespace
}  // namespace forebay
