#include "plan/drawn_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "plan/balanced_order.h"
#include "plan/pass_end.h"
#include "plan/systematic_draws.h"
#include "plan/test_drawn_orders.h"

namespace forebay {
namespace {

struct DrawnCase {
  const char* name;
  std::function<std::unique_ptr<Order>()> make;
};

std::vector<int32_t> classes_of_sizes(const std::vector<int>& sizes) {
  std::vector<int32_t> class_of;
  for (size_t number = 0; number < sizes.size(); ++number)
    class_of.insert(class_of.end(), static_cast<size_t>(sizes[number]), static_cast<int32_t>(number));
  return class_of;
}

// Tests the promises of Order with orders that draw.
class DrawnOrderConformanceTest : public testing::TestWithParam<DrawnCase> {
 protected:
  static constexpr int64_t kEpochs = 6;
  std::vector<int64_t> ids_of(const Order& order, int64_t epoch) const {
    std::vector<int64_t> ids(static_cast<size_t>(order.size()));
    for (int64_t at = 0; at < order.size(); ++at) ids[static_cast<size_t>(at)] = order.id_at(epoch, at);
    return ids;
  }
};

TEST_P(DrawnOrderConformanceTest, in_bulk_as_one_by_one_with_uses_numbered_from_0) {
  const auto order = GetParam().make();
  EXPECT_FALSE(order->permutes());
  for (int64_t epoch = kEpochs - 1; epoch >= 0; --epoch) {
    const std::vector<int64_t> ids = ids_of(*order, epoch);
    std::map<int64_t, std::vector<int32_t>> uses;
    for (const int64_t run : {int64_t{1}, int64_t{7}, order->size()}) {
      uses.clear();
      for (int64_t begin = 0; begin < order->size(); begin += run) {
        const auto count = static_cast<size_t>(std::min(run, order->size() - begin));
        std::vector<int64_t> some(count), again(count);
        std::vector<int32_t> occurrences(count, -1);
        order->ids_at(epoch, begin, some);
        order->uses_at(epoch, begin, again, occurrences);
        ASSERT_EQ(some, again);
        ASSERT_TRUE(std::equal(some.begin(), some.end(), ids.begin() + begin)) << "epoch " << epoch << " at " << begin;
        for (size_t i = 0; i < count; ++i) uses[some[i]].push_back(occurrences[i]);
      }
    }
    for (auto& [id, numbers] : uses) {
      ASSERT_TRUE(id >= 0 && id < order->ids());
      std::ranges::sort(numbers);
      for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], static_cast<int32_t>(i)) << "sample " << id;
    }
  }
}

TEST_P(DrawnOrderConformanceTest, next_use_is_the_first_one_from_there_on) {
  const auto order = GetParam().make();
  std::vector<int64_t> ids;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const std::vector<int64_t> more = ids_of(*order, epoch);
    ids.insert(ids.end(), more.begin(), more.end());
  }
  for (int64_t id = 0; id < order->ids(); id += 1 + order->ids() / 37) {
    for (size_t at = 0; at < ids.size(); at += 1 + ids.size() / 23) {
      const auto found = std::find(ids.begin() + static_cast<std::ptrdiff_t>(at), ids.end(), id) - ids.begin();
      const auto from = static_cast<int64_t>(at);
      const Order::Use use = order->next_use(id, from / order->size(), from % order->size());
      if (found == static_cast<std::ptrdiff_t>(ids.size())) {
        ASSERT_GE(use.epoch, kEpochs);
      } else {
        ASSERT_EQ(use, (Order::Use{found / order->size(), found % order->size()})) << "sample " << id << " from " << at;
      }
    }
    const auto first = std::find(ids.begin(), ids.begin() + order->size(), id) - ids.begin();
    ASSERT_EQ(order->position_of(0, id), first);
  }
}

TEST_P(DrawnOrderConformanceTest, positions_read_together_have_the_chunks_that_hold_their_samples) {
  const auto order = GetParam().make();
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (int64_t at = 0; at < order->size(); at += 1 + order->size() / 41) {
      const Order::Range range = order->read_together(epoch, at);
      ASSERT_EQ((at - range.first) % range.step, 0);
      ASSERT_LT(at, range.first + range.step * range.count);
      const std::vector<int64_t> chunks = order->chunks_together(epoch, at);
      if (chunks.empty()) continue;
      const int64_t chunk = chunk_of_test_sample(order->id_at(epoch, at));
      ASSERT_EQ(std::ranges::count(chunks, chunk), 1) << "chunk " << chunk << " at " << at;
    }
  }
}

// Classes of the rows of test chunks; some rows have none.
std::vector<int32_t> classes_of_rows() {
  std::vector<int32_t> class_of;
  for (int64_t id = 0; id < kTestRows; ++id) class_of.push_back(id % 11 == 0 ? -1 : id < 100 ? 0 : id % 7 == 0 ? 1 : 2);
  return class_of;
}

std::vector<double> uneven_weights(int64_t count) {
  std::vector<double> weights;
  for (int64_t i = 0; i < count; ++i) weights.push_back(i % 5 == 0 ? 0 : std::pow(1.7, static_cast<double>(i % 11)));
  return weights;
}

const std::vector<DrawnCase> kDrawnCases{
    {"half", [] { return drawn_samples(100, {}, 50); }},
    {"one_of_many", [] { return drawn_samples(100, {}, 1); }},
    {"all", [] { return drawn_samples(100, {}, 100); }},
    {"more_than_all", [] { return drawn_samples(30, {}, 101); }},
    {"in_order", [] { return drawn_samples(100, {}, 33, false); }},
    {"weighted", [] { return drawn_samples(120, uneven_weights(120), 200); }},
    {"rarely", [] { return drawn_samples(120, uneven_weights(120), 7); }},
    {"weighted_in_order", [] { return drawn_samples(120, uneven_weights(120), 90, false); }},
    {"one_sample", [] { return drawn_samples(1, {3.5}, 5); }},
    {"chunks", [] { return drawn_rows(uneven_weights(kTestRows), 300, 1); }},
    {"few_of_many_chunks", [] { return drawn_rows({}, 4, 1); }},
    {"chunks_with_lanes", [] { return drawn_rows(uneven_weights(kTestRows), 211, 3); }},
    {"chunks_in_order", [] { return drawn_rows(uneven_weights(kTestRows), 80, 0); }},
    {"balanced_chunks", [] { return balanced_rows(classes_of_rows(), 130, 1); }},
    {"balanced_chunks_with_lanes", [] { return balanced_rows(classes_of_rows(), 400, 3); }},
    {"balanced_chunks_in_order", [] { return balanced_rows(classes_of_rows(), 20, 0); }},
    {"balanced", [] { return balanced_samples(classes_of_sizes({1, 10, 100}), 111); }},
    {"balanced_in_order", [] { return balanced_samples(classes_of_sizes({3, 2, 40}), 31, false); }},
    {"balanced_with_samples_left_out", [] { return balanced_samples({-1, 0, 2, -1, 1, 1, 2, 2, 0, 0, 0}, 10); }},
    {"balanced_one_class", [] { return balanced_samples({0, 0, 0}, 7); }},
    {"more_classes_than_positions", [] { return balanced_samples(classes_of_sizes(std::vector<int>(400, 2)), 9); }},
};

INSTANTIATE_TEST_SUITE_P(Orders, DrawnOrderConformanceTest, testing::ValuesIn(kDrawnCases),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

std::vector<int64_t> counts_of(const Order& order, int64_t epoch) {
  std::vector<int64_t> counts(static_cast<size_t>(order.ids()));
  for (int64_t at = 0; at < order.size(); ++at) ++counts[static_cast<size_t>(order.id_at(epoch, at))];
  return counts;
}

TEST(DrawnOrderTest, each_sample_comes_its_share_rounded_down_or_up) {
  const std::vector<double> weights = uneven_weights(kTestRows);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (const int64_t draws : {int64_t{1}, int64_t{40}, kTestRows, int64_t{1000}}) {
    const auto one_by_one = drawn_samples(kTestRows, weights, draws), in_chunks = drawn_rows(weights, draws, 2);
    for (const Order* const order : {one_by_one.get(), in_chunks.get()}) {
      for (int64_t epoch = 0; epoch < 5; ++epoch) {
        const std::vector<int64_t> counts = counts_of(*order, epoch);
        for (size_t id = 0; id < counts.size(); ++id) {
          const double share = static_cast<double>(draws) * weights[id] / sum;
          ASSERT_GE(static_cast<double>(counts[id]), std::floor(share - 1e-9)) << "sample " << id;
          ASSERT_LE(static_cast<double>(counts[id]), std::ceil(share + 1e-9)) << "sample " << id;
        }
      }
    }
  }
}

TEST(DrawnOrderTest, samples_that_are_alike_come_alike_often_over_epochs) {
  const auto order = drawn_samples(100, {}, 30);
  std::vector<int64_t> counts(100);
  constexpr int64_t kEpochs = 200;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const std::vector<int64_t> here = counts_of(*order, epoch);
    EXPECT_LE(*std::ranges::max_element(here), 1) << "no sample twice while others wait";
    for (size_t id = 0; id < here.size(); ++id) counts[id] += here[id];
  }
  for (const int64_t count : counts) EXPECT_NEAR(static_cast<double>(count), 0.3 * kEpochs, 3);
}

TEST(DrawnOrderTest, as_many_draws_as_samples_that_are_alike_are_a_permutation) {
  const auto order = drawn_samples(100, std::vector<double>(100, 0.1), 100);
  for (int64_t epoch = 0; epoch < 5; ++epoch) EXPECT_EQ(counts_of(*order, epoch), std::vector<int64_t>(100, 1));
}

TEST(DrawnOrderTest, neighbours_are_drawn_independently_of_their_place) {
  const auto order = drawn_samples(1000, {}, 500);
  int64_t both = 0;
  const std::vector<int64_t> counts = counts_of(*order, 0);
  for (size_t id = 1; id < counts.size(); ++id) both += counts[id] * counts[id - 1];
  EXPECT_GT(both, 190);
  EXPECT_LT(both, 310);
}

TEST(DrawnOrderTest, weights_of_any_size_count) {
  EXPECT_EQ(counts_of(*drawn_samples(3, {1e-300, 2e-300, 1e-300}, 4), 0), (std::vector<int64_t>{1, 2, 1}));
  EXPECT_EQ(counts_of(*drawn_samples(2, {1e308, 1e308}, 6), 3), (std::vector<int64_t>{3, 3}));
  const auto order = drawn_samples(2, {1e18, 1}, 3);
  EXPECT_EQ(counts_of(*order, 0)[0] + counts_of(*order, 0)[1], 3);
  EXPECT_NE(order->next_use(1, 0, 0), Order::kNoUse);
  EXPECT_EQ(drawn_samples(2, {1, 0}, 3)->next_use(1, 0, 0), Order::kNoUse);
}

TEST(DrawnOrderTest, classes_in_chunks_have_equal_shares_of_an_epoch_to_within_one_draw) {
  const std::vector<int32_t> class_of = classes_of_rows();
  const auto order = balanced_rows(class_of, 100, 1);
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    std::map<int32_t, int64_t> draws;
    const std::vector<int64_t> counts = counts_of(*order, epoch);
    for (size_t id = 0; id < counts.size(); ++id) draws[class_of[id]] += counts[id];
    EXPECT_EQ(draws[-1], 0);
    for (int32_t number = 0; number < 3; ++number) EXPECT_NEAR(static_cast<double>(draws[number]), 33.5, 1) << number;
  }
  EXPECT_EQ(order->next_use(0, 0, 0), Order::kNoUse);
  EXPECT_EQ(order->position_of(0, 0), order->size());
}

TEST(DrawnOrderTest, says_which_options_are_wrong) {
  const auto message = [](std::vector<double> weights, int64_t draws) {
    const auto made = drawn_order(drawn_options(3, std::move(weights), draws, true));
    return made.ok() ? std::string("right") : made.status().message();
  };
  EXPECT_EQ(message({}, 1), "right");
  EXPECT_EQ(message({}, 0), "an epoch has 0 draws; at least 1 is possible, and fewer than 2^62");
  EXPECT_EQ(message({1, 2}, 1), "there are 2 weights for 3 samples; give one for each");
  EXPECT_EQ(message({1, -2, 1}, 1), "the weight of sample 1 is -2.000000; weights are finite and at least 0");
  EXPECT_EQ(message({1, 2, NAN}, 1), "the weight of sample 2 is nan; weights are finite and at least 0");
  EXPECT_EQ(message({0, 0, 0}, 1), "all weights are 0; at least one sample needs a weight above 0");
  DrawnOptions once = drawn_options(3, {2, 1, 1}, 2, false);
  once.once = true;
  EXPECT_TRUE(drawn_order(once).ok());
  once.draws = 3;
  EXPECT_EQ(drawn_order(once).status().message(),
            "sample 0 would come 1.500000 times in an epoch of 3 draws, and without replacement once is the most");
}

TEST(SystematicDrawsTest, the_next_epoch_of_a_place_is_the_first_that_draws_it) {
  for (const int64_t draws : {1, 3, 10}) {
    std::vector<double> weights;
    for (int i = 0; i < 60; ++i) weights.push_back(1 + i * i % 17);
    const SystematicDraws drawn(given_weights(weights), draws, 5);
    for (int64_t place = 0; place < drawn.places(); ++place) {
      for (int64_t epoch = 0; epoch < 40; epoch += 13) {
        int64_t expected = epoch;
        while (drawn.draws_before(expected, place) == drawn.draws_before(expected, place + 1)) ++expected;
        ASSERT_EQ(drawn.next_epoch(epoch, place), expected) << "place " << place << " from " << epoch;
      }
    }
  }
}

TEST(BalancedOrderTest, classes_differ_by_one_draw_at_most_after_any_number_of_positions) {
  const std::vector<int32_t> class_of = classes_of_sizes({1, 10, 1000});
  const auto order = balanced_samples(class_of, 1011);
  std::vector<int64_t> draws(3), uses(class_of.size());
  for (int64_t at = 0; at < 4 * order->size(); ++at) {
    const auto id = static_cast<size_t>(order->id_at(at / order->size(), at % order->size()));
    ++draws[static_cast<size_t>(class_of[id])];
    ++uses[id];
    ASSERT_LE(std::ranges::max(draws) - std::ranges::min(draws), 1) << "at " << at;
    // No sample comes again before all others of its class: only near the end of a check each time.
    if (at % 97 != 0) continue;
    for (const auto& [begin, end] : {std::pair(1, 11), std::pair(11, 1011)}) {
      const auto [least, most] = std::minmax_element(uses.begin() + begin, uses.begin() + end);
      ASSERT_LE(*most - *least, 1) << "at " << at;
    }
  }
}

TEST(BalancedOrderTest, cycles_are_arranged_anew) {
  const auto order = balanced_samples(classes_of_sizes({50, 50}), 200);
  int64_t changes = 0;
  for (int64_t at = 0; at < 200; at += 2) changes += order->id_at(0, at) < 50 ? 1 : 0;
  EXPECT_GT(changes, 25);
  EXPECT_LT(changes, 75);
}

// Draws of 40 samples, 100 in an epoch, whose weights change at position 30 of epoch 2.
class RedrawnOrderTest : public testing::TestWithParam<bool> {
 protected:
  static constexpr int64_t kPass = 2, kFirst = 30;

  static std::vector<double> weights() {
    std::vector<double> all;
    for (int i = 0; i < 40; ++i) all.push_back(i % 4);
    return all;
  }
  const std::shared_ptr<const Order> now_ = drawn_samples(40, weights(), 100, GetParam());
  const std::shared_ptr<const Order> rest_ = drawn_samples(40, weights(), 70, GetParam(), 11);
  const std::unique_ptr<Order> order_ = redrawn_order(rest_, kPass, now_);
};

TEST_P(RedrawnOrderTest, a_pass_ends_with_the_rest_and_later_ones_are_of_the_new_weights) {
  EXPECT_EQ(order_->size(), 100);
  EXPECT_EQ(order_->ids(), 40);
  EXPECT_FALSE(order_->permutes());
  for (int64_t p = kFirst; p < 100; ++p) ASSERT_EQ(order_->id_at(kPass, p), rest_->id_at(kPass, p - kFirst));
  for (const int64_t run : {int64_t{1}, int64_t{7}, int64_t{100}}) {
    for (int64_t epoch = kPass; epoch < kPass + 3; ++epoch) {
      for (int64_t begin = 0; begin < 100; begin += run) {
        std::vector<int64_t> ids(static_cast<size_t>(std::min(run, 100 - begin))), again(ids.size());
        std::vector<int32_t> uses(ids.size(), -1), plain(ids.size(), -1);
        order_->ids_at(epoch, begin, ids);
        order_->uses_at(epoch, begin, again, uses);
        ASSERT_EQ(ids, again);
        for (size_t i = 0; i < ids.size(); ++i) {
          const int64_t at = begin + static_cast<int64_t>(i);
          ASSERT_EQ(ids[i], order_->id_at(epoch, at));
          if (epoch > kPass) {
            ASSERT_EQ(ids[i], now_->id_at(epoch, at));
          }
          if (epoch == kPass && at >= kFirst) {
            ASSERT_EQ(uses[i], 100 + at) << "no use before has that number";
          }
        }
      }
    }
  }
}

TEST_P(RedrawnOrderTest, uses_of_a_sample_have_different_numbers_after_several_changes) {
  const std::shared_ptr<const Order> last = drawn_samples(40, weights(), 45, GetParam(), 19);
  const auto again = redrawn_order(last, kPass, now_);
  std::map<int64_t, std::vector<int32_t>> of_sample;
  const auto add = [&](const Order& order, int64_t begin, int64_t end) {
    std::vector<int64_t> ids(static_cast<size_t>(end - begin));
    std::vector<int32_t> uses(ids.size());
    order.uses_at(kPass, begin, ids, uses);
    for (size_t i = 0; i < ids.size(); ++i) of_sample[ids[i]].push_back(uses[i]);
  };
  add(*now_, 0, kFirst);
  add(*order_, kFirst, 55);
  add(*again, 55, 100);
  EXPECT_LE(of_sample.size(), 30u) << "100 uses of the samples with a weight";
  for (auto& [id, numbers] : of_sample) {
    std::ranges::sort(numbers);
    EXPECT_EQ(std::ranges::adjacent_find(numbers), numbers.end()) << id;
  }
}

TEST_P(RedrawnOrderTest, next_use_is_the_first_one_from_there_on) {
  for (int64_t id = 0; id < 40; ++id) {
    for (int64_t at = kPass * 100; at < (kPass + 2) * 100; at += 3) {
      int64_t next = at;
      while (next < (kPass + 4) * 100 && order_->id_at(next / 100, next % 100) != id) ++next;
      const Order::Use expected = id % 4 == 0 ? Order::kNoUse : Order::Use{next / 100, next % 100};
      ASSERT_EQ(order_->next_use(id, at / 100, at % 100), expected) << id << " from " << at;
    }
    const int64_t first = order_->position_of(kPass, id);
    for (int64_t p = 0; p < first; ++p) ASSERT_NE(order_->id_at(kPass, p), id);
    if (first < 100) {
      EXPECT_EQ(order_->id_at(kPass, first), id);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Redrawn, RedrawnOrderTest, testing::Bool());

TEST(RedrawnOrder, draws_of_chunks_stay_together) {
  const std::vector<double> weights(static_cast<size_t>(kTestRows), 1.0);
  const std::shared_ptr<const Order> now = drawn_rows(weights, 200, 2), rest = drawn_rows(weights, 80, 2);
  const auto order = redrawn_order(rest, 1, now);
  for (int64_t p = 120; p < 200; ++p) {
    const std::vector<int64_t> chunks = order->chunks_together(1, p);
    EXPECT_NE(std::ranges::find(chunks, chunk_of_test_sample(order->id_at(1, p))), chunks.end()) << p;
    const Order::Range range = order->read_together(1, p);
    EXPECT_EQ((p - range.first) % range.step, 0);
    EXPECT_GE(range.first, 120);
  }
}

}  // namespace
}  // namespace forebay
