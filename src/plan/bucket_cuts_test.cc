#include "plan/bucket_cuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "plan/test_lengths.h"

namespace forebay {
namespace {

std::vector<float> descending(std::vector<float> lengths) {
  std::ranges::sort(lengths, std::greater());
  return lengths;
}

// Sizes of the batches.
std::vector<uint32_t> rows_of(const std::vector<uint32_t>& begins) {
  std::vector<uint32_t> rows;
  for (size_t i = 0; i + 1 < begins.size(); ++i) rows.push_back(begins[i + 1] - begins[i]);
  return rows;
}

TEST(BucketCuts, a_batch_costs_at_most_the_budget_unless_it_is_of_one_sample) {
  for (const bool padded : {true, false}) {
    const BucketRules rules{.budget = 4000, .linear = 1, .quadratic = 0.001, .padded = padded};
    const auto lengths = descending(long_tailed_lengths(5000, 300));
    const auto begins = cut_batches(lengths, rules, 1);
    const auto rows = rows_of(begins);
    const auto costs = costs_of(lengths, begins, rules);
    ASSERT_EQ(std::accumulate(rows.begin(), rows.end(), 0u), 5000u);
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_TRUE(rows[i] == 1 || costs[i] <= 4000) << i;
    EXPECT_GT(rows_of(cut_batches(lengths, {.budget = 4000, .padded = padded}, 1)).back(), 20u);
  }
}

TEST(BucketCuts, samples_longer_than_the_budget_are_alone) {
  EXPECT_EQ(rows_of(cut_batches(std::vector<float>{900, 800, 10, 10, 10}, {.budget = 100}, 1)),
            (std::vector<uint32_t>{1, 1, 3}));
}

TEST(BucketCuts, there_are_no_more_batches_than_if_each_were_filled_in_turn) {
  const BucketRules rules{.budget = 5000};
  const auto lengths = descending(long_tailed_lengths(3000, 200));
  size_t filled = 0;
  for (size_t at = 0; at < lengths.size(); ++filled) at += std::max<size_t>(1, static_cast<size_t>(5000 / lengths[at]));
  EXPECT_EQ(rows_of(cut_batches(lengths, rules, 1)).size(), filled);
}

TEST(BucketCuts, no_batch_is_left_with_the_rest) {
  const BucketRules rules{.budget = 1000};
  const std::vector<float> lengths(101, 100);
  const auto rows = rows_of(cut_batches(lengths, rules, 1));
  EXPECT_EQ(rows.size(), 11u);
  EXPECT_EQ(std::ranges::min(rows), 9u);
}

TEST(BucketCuts, a_few_more_batches_make_whole_groups) {
  const BucketRules rules{.budget = 1000};
  EXPECT_EQ(rows_of(cut_batches(std::vector<float>(990, 100), rules, 25)).size(), 100u);
  EXPECT_EQ(rows_of(cut_batches(std::vector<float>(510, 100), rules, 25)).size(), 51u) << "24 more are too many";
}

TEST(BucketCuts, a_batch_has_samples_of_one_side_of_a_boundary) {
  const BucketRules rules{.budget = 100, .boundaries = {10, 20}};
  EXPECT_EQ(rows_of(cut_batches(std::vector<float>{21, 20, 19, 10, 9, 1}, rules, 1)), (std::vector<uint32_t>{2, 2, 2}));
}

TEST(BucketCuts, sizes_limit_the_rows_between_boundaries) {
  const BucketRules rules{.boundaries = {10}, .sizes = {3, 2}};
  EXPECT_EQ(rows_of(cut_batches(std::vector<float>{30, 20, 10, 9, 8, 7, 6}, rules, 1)),
            (std::vector<uint32_t>{2, 1, 3, 1}));
}

TEST(BucketCuts, rows_are_limited_with_and_without_padding) {
  for (const bool padded : {true, false}) {
    const BucketRules rules{.budget = 1000, .padded = padded, .most_rows = 4};
    EXPECT_EQ(std::ranges::max(rows_of(cut_batches(std::vector<float>(50, 1), rules, 1))), 4u);
  }
}

TEST(BucketRulesTest, lengths_are_rounded_up_by_a_64th_at_most) {
  const BucketRules rules{.boundaries = {1000}};
  for (const float length : long_tailed_lengths(2000, 400)) {
    const float rounded = rules.rounded(length);
    EXPECT_GE(rounded, length);
    EXPECT_LE(rounded, length * (1 + 1.0F / 64));
    EXPECT_EQ(rules.bucket_of(rounded), rules.bucket_of(length));
    EXPECT_EQ(rules.rounded(rounded), rounded);
  }
  for (float length = 1; length < 128; ++length) EXPECT_EQ(rules.rounded(length), length);
}

TEST(BucketRulesTest, most_rows_is_a_bound_near_the_truth) {
  const std::vector<SampleLengths> lengths = {shared_lengths(long_tailed_lengths(3000, 300)),
                                              shared_lengths({5, 6, 700})};
  const BucketRules rules{.budget = 6000};
  // The batch with most samples has the shortest of all.
  std::vector<float> all = *lengths[0];
  all.insert(all.end(), lengths[1]->begin(), lengths[1]->end());
  std::ranges::sort(all);
  int64_t most = 0;
  while (static_cast<double>(all[static_cast<size_t>(most)]) * static_cast<double>(most + 1) <= 6000) ++most;
  EXPECT_EQ(most_rows(rules, lengths), most);
  EXPECT_EQ(most_rows_with_repeats(rules, lengths), 1200);
  EXPECT_EQ(most_rows({.budget = 1}, lengths), 1);
  EXPECT_EQ(most_rows(rules, std::vector<SampleLengths>{shared_lengths({})}), 1);
}

}  // namespace
}  // namespace forebay
