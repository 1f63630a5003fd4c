#include "plan/merging.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace forebay {
namespace {

bool is_whole(const std::vector<MergedRecord>& order, const std::vector<size_t>& counts) {
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (const MergedRecord& record : order) {
    if (record.partition >= counts.size() || record.index >= counts[record.partition]) return false;
    seen.insert({record.partition, record.index});
  }
  return seen.size() == std::accumulate(counts.begin(), counts.end(), size_t{0}) && seen.size() == order.size();
}

TEST(Merging, each_record_once_and_those_of_a_partition_in_order) {
  std::mt19937_64 draw(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<size_t> counts(1 + draw() % 7);
    for (size_t& count : counts) count = draw() % 40;
    const auto order = merge_order(draw(), static_cast<int64_t>(draw() % 1'000'000), counts, false);
    ASSERT_TRUE(is_whole(order, counts));
    std::vector<uint32_t> next(counts.size());
    for (const MergedRecord& record : order) ASSERT_EQ(record.index, next[record.partition]++);
  }
}

TEST(Merging, partitions_take_turns_evenly) {
  const std::vector<size_t> counts = {30, 10, 20};
  const auto order = merge_order(7, 0, counts, false);
  std::vector<size_t> seen(3);
  for (size_t i = 0; i < order.size(); ++i) {
    ++seen[order[i].partition];
    for (size_t p = 0; p < 3; ++p) {
      const double fair = static_cast<double>(counts[p]) * static_cast<double>(i + 1) / 60.0;
      EXPECT_LE(std::abs(static_cast<double>(seen[p]) - fair), 1.0) << i;
    }
  }
}

TEST(Merging, who_begins_is_drawn) {
  const std::vector<size_t> counts(4, 8);
  std::set<uint32_t> first;
  for (int64_t decision = 0; decision < 64; ++decision)
    first.insert(merge_order(3, decision, counts, false).front().partition);
  EXPECT_EQ(first.size(), 4u);
}

TEST(Merging, shuffled_is_a_permutation_that_seed_and_decision_choose) {
  const std::vector<size_t> counts = {100, 50};
  const auto one = merge_order(3, 150, counts, true);
  EXPECT_TRUE(is_whole(one, counts));
  EXPECT_EQ(one, merge_order(3, 150, counts, true));
  EXPECT_NE(one, merge_order(4, 150, counts, true));
  EXPECT_NE(one, merge_order(3, 300, counts, true));
  EXPECT_NE(one, merge_order(3, 150, counts, false));
}

TEST(Merging, shares_follow_what_waits_and_sum_to_the_decision) {
  std::mt19937_64 draw(2);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<size_t> waiting(1 + draw() % 6);
    for (size_t& count : waiting) count = draw() % 1000;
    const size_t all = std::accumulate(waiting.begin(), waiting.end(), size_t{0});
    if (all == 0) continue;
    const size_t size = 1 + draw() % all;
    const auto share = share_of_decision(size, waiting);
    ASSERT_EQ(std::accumulate(share.begin(), share.end(), size_t{0}), size);
    for (size_t p = 0; p < share.size(); ++p) {
      ASSERT_LE(share[p], waiting[p]);
      const double exact = static_cast<double>(size) * static_cast<double>(waiting[p]) / static_cast<double>(all);
      ASSERT_NEAR(static_cast<double>(share[p]), exact, 1.0);
    }
  }
}

TEST(Merging, draws_of_a_sample_are_uniform_and_differ_by_decision) {
  std::vector<size_t> cells(16);
  for (uint64_t place = 0; place < 16'000; ++place) ++cells[sampling_draw(5, 64, place) >> 60];
  double chi = 0;
  for (const size_t cell : cells) chi += std::pow(static_cast<double>(cell) - 1000.0, 2) / 1000.0;
  EXPECT_LT(chi, 45) << "15 degrees of freedom: above once in 13,000 draws";
  EXPECT_NE(sampling_draw(5, 64, 1), sampling_draw(5, 128, 1));
  EXPECT_NE(sampling_draw(5, 64, 1), sampling_draw(6, 64, 1));
}

}  // namespace
}  // namespace forebay
