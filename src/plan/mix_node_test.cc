#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "plan/continued_mix.h"
#include "plan/mix_steps.h"
#include "plan/node.h"
#include "plan/node_conformance.h"
#include "plan/test_nodes.h"
#include "plan/test_slow_mix.h"

namespace forebay {
namespace {

constexpr int64_t kWindow = 1024;

MixOptions weighted(const std::vector<double>& weights, int64_t samples = 0, uint64_t seed = 7) {
  MixOptions options;
  options.seed = seed;
  options.stages = {{0, weights}};
  options.samples = samples;
  return options;
}

std::unique_ptr<PlanNode> mixed(const std::vector<int64_t>& sizes, const MixOptions& options) {
  return mix_node(shuffled_leaves(sizes), options).value();
}

TEST(MixNodeTest, conforms) {
  expect_conforms(*mixed({5}, weighted({2})), 4);
  expect_conforms(*mixed({50, 3}, weighted({0.7, 0.3})), 4);
  expect_conforms(*mixed({50, 3, 0}, weighted({0.7, 0.3, 0}, 1300)), 4);
  expect_conforms(*mixed({50, 30, 7}, weighted({1, 1e-9, 0}, 3000)), 3);
  expect_conforms(*mixed({1, 1, 1, 1, 1, 1, 1}, weighted({1, 2, 3, 4, 5, 6, 7}, 100)), 30);
}

TEST(MixNodeTest, conforms_through_stages) {
  MixOptions options = weighted({1, 1, 0}, 900);
  options.stages.push_back({1, {0, 1, 1}});
  options.stages.push_back({700, {5, 0, 1}});
  options.stages.push_back({1724, {1, 0, 0}});  // a whole window later
  options.stages.push_back({5000, {1, 2, 3}});
  expect_conforms(*mixed({100, 40, 7}, options), 8);
  options.ramp_linear = true;
  expect_conforms(*mixed({100, 40, 7}, options), 8);
}

// Any weights, any stages, far enough for several periods.
MixOptions random_options(std::mt19937_64* random, size_t children) {
  MixOptions options;
  options.seed = (*random)();
  const size_t stages = 1 + (*random)() % 4;
  for (size_t i = 0; i < stages; ++i) {
    std::vector<double> weights(children);
    for (double& weight : weights)
      weight = (*random)() % 4 == 0 ? 0 : std::exp(static_cast<double>((*random)() % 900) / 100);
    weights[(*random)() % children] = 1;
    const int64_t from =
        i == 0 ? 0 : options.stages.back().from + 1 + static_cast<int64_t>((*random)() % (i == 1 ? 90'000 : 3000));
    options.stages.push_back({from, weights});
  }
  options.ramp_linear = (*random)() % 2 == 0;
  return options;
}

TEST(MixNodeTest, draws_are_those_of_the_slow_model) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 40; ++round) {
    const size_t children = 1 + random() % (round % 4 == 0 ? 100 : 8);
    MixOptions options = random_options(&random, children);
    options.samples = 170'000;
    const std::vector<int32_t> expected = SlowMix(mix_steps(options), options.seed).children(2 * options.samples);
    const auto node = mixed(std::vector<int64_t>(children, 1000), options);
    std::vector<int32_t> found = leaves_of(*node, 0);
    const std::vector<int32_t> second = leaves_of(*node, 1);
    found.insert(found.end(), second.begin(), second.end());
    ASSERT_EQ(found.size(), expected.size());
    ASSERT_TRUE(found == expected) << "round " << round << ", first at "
                                   << std::mismatch(found.begin(), found.end(), expected.begin()).first - found.begin();
  }
}

// Draws of each leaf, of leaves with `size` samples, before a position.
std::vector<int64_t> drawn_before(const PlanNode& node, int64_t position, int64_t size) {
  std::vector<int64_t> drawn;
  for (size_t leaf = 0; leaf < node.leaves(); ++leaf) {
    const Order::Use draw = node.next_draw(leaf, {position / node.size(), position % node.size()});
    drawn.push_back(draw.epoch * size + draw.position);
  }
  return drawn;
}

void expect_shares(const MixOptions& options, size_t children) {
  const std::vector<MixStep> steps = mix_steps(options);
  const auto node = mixed(std::vector<int64_t>(children, 1000), options);
  for (size_t i = 0; i < steps.size(); ++i) {
    const int64_t end = i + 1 < steps.size() ? steps[i + 1].from : steps[i].from + 3 * kMixPeriod;
    const std::vector<int64_t> before = drawn_before(*node, steps[i].from, 1000);
    for (int64_t at = steps[i].from; at <= end; at += kWindow) {
      const std::vector<int64_t> drawn = drawn_before(*node, at, 1000);
      for (size_t child = 0; child < children; ++child) {
        // Exact: both sides are whole numbers of 2^-16.
        const int64_t off =
            (drawn[child] - before[child]) * kMixPeriod - steps[i].weights[child] * (at - steps[i].from);
        ASSERT_LT(std::abs(off), kMixPeriod) << "part " << child << " at " << at;
      }
    }
  }
}

TEST(MixNodeTest, shares_are_within_one_at_the_end_of_each_window) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 40; ++round) {
    const size_t children = 1 + random() % (round % 4 == 0 ? 60 : 8);
    MixOptions options = random_options(&random, children);
    options.samples = 12'345;
    ASSERT_NO_FATAL_FAILURE(expect_shares(options, children));
  }
}

TEST(MixNodeTest, shares_of_a_thousand_parts) {
  std::vector<double> weights;
  for (int i = 0; i < 1000; ++i) weights.push_back(1 + i % 37);
  expect_shares(weighted(weights, 5000), 1000);
}

// Errors of the steps of a ramp do not add up.
TEST(MixNodeTest, shares_of_a_whole_ramp) {
  std::mt19937_64 random(9);
  for (const size_t children : {2, 8, 64}) {
    MixOptions options = weighted(std::vector<double>(children), 5000);
    options.stages.push_back({100 * kWindow, std::vector<double>(children)});
    for (MixOptions::Stage& stage : options.stages) {
      for (double& weight : stage.weights) weight = static_cast<double>(1 + random() % 1000);
    }
    options.ramp_linear = true;
    const std::vector<MixStep> steps = mix_steps(options);
    ASSERT_EQ(steps.size(), 101);
    const auto node = mixed(std::vector<int64_t>(children, 1000), options);
    std::vector<int64_t> shares(children);  // of the period
    for (size_t i = 0; i < 100; ++i) {
      const std::vector<int64_t> drawn = drawn_before(*node, steps[i + 1].from, 1000);
      for (size_t child = 0; child < children; ++child) {
        shares[child] += steps[i].weights[child] * kWindow;
        ASSERT_LT(std::abs(drawn[child] * kMixPeriod - shares[child]), kMixPeriod)
            << "part " << child << " of " << children;
      }
    }
  }
}

TEST(MixNodeTest, a_part_goes_on_in_the_next_epoch_where_it_is) {
  const auto node = mixed({100, 1000}, weighted({1, 1}, 150));
  const std::vector<Draw> draws = walk(*node, 20);
  int64_t made = 0;
  for (const Draw& draw : draws) {
    if (draw.leaf == 0) {
      EXPECT_EQ(draw.pass * 100 + draw.place, made++);
    }
  }
  EXPECT_NEAR(static_cast<double>(made), 1500, 80);  // in the middle of a window
}

TEST(MixNodeTest, ends_before_the_first_part_is_repeated) {
  for (const uint64_t seed : {1, 2, 3}) {
    const auto node = mixed({400, 5000, 3000}, weighted({0.1, 0.8, 0.1}, 0, seed));
    std::vector<Draw> draws = walk(*node, 2);
    const auto end = draws.begin() + node->size();
    EXPECT_TRUE(std::all_of(draws.begin(), end, [](const Draw& draw) { return draw.pass == 0; }));
    EXPECT_EQ(std::make_pair(end->pass, end->place), std::make_pair(int64_t{1}, int64_t{0}));
    EXPECT_NEAR(static_cast<double>(node->size()), 4000, 1024);
  }
}

TEST(MixNodeTest, ends_when_all_parts_were_passed) {
  for (const uint64_t seed : {1, 2, 3}) {
    MixOptions options = weighted({0.1, 0.8, 0.1, 0}, 0, seed);
    options.end = MixEnd::kAll;
    const auto node = mixed({40, 5000, 300, 9}, options);
    std::vector<Draw> draws = walk(*node, 1);
    for (const int32_t leaf : {0, 1, 2}) {
      EXPECT_TRUE(std::any_of(draws.begin(), draws.end(), [&](const Draw& draw) {
        return draw.leaf == leaf && draw.pass == 0 && draw.place == node->order(static_cast<size_t>(leaf)).size() - 1;
      }));
    }
    EXPECT_EQ(draws.back().pass, 0);
    EXPECT_EQ(draws.back().place, node->order(static_cast<size_t>(draws.back().leaf)).size() - 1);
  }
}

TEST(MixNodeTest, where_an_epoch_ends_follows_the_stages) {
  MixOptions options = weighted({1, 0});
  options.stages.push_back({50, {0, 1}});
  const auto size = [&](MixEnd end) {
    options.end = end;
    return mixed({100, 1000}, options)->size();
  };
  EXPECT_EQ(size(MixEnd::kFirst), 50 + 1000);  // part 0 never comes to its end
  options.stages.push_back({1050, {1, 0}});
  EXPECT_EQ(size(MixEnd::kAll), 1050 + 50);
  EXPECT_EQ(size(MixEnd::kFirst), 1050 + 50);
}

TEST(MixNodeTest, a_stage_changes_nothing_before_it) {
  MixOptions options = weighted({3, 1, 2}, 5000);
  const std::vector<int32_t> before = leaves_of(*mixed({500, 500, 500}, options), 0);
  for (const int64_t from : {1, 1024, 1500, 2048, 4999}) {
    options.stages.resize(1);
    options.stages.push_back({from, {1, 7, 0}});
    const std::vector<int32_t> after = leaves_of(*mixed({500, 500, 500}, options), 0);
    EXPECT_TRUE(std::equal(before.begin(), before.begin() + from, after.begin())) << from;
    EXPECT_EQ(std::count(after.begin() + from, after.end(), 2), 0);
  }
}

TEST(MixNodeTest, no_two_windows_are_arranged_alike) {
  // Four periods; the counts of their windows are equal.
  const std::vector<int32_t> leaves = leaves_of(*mixed({500, 500}, weighted({1, 1}, 4 * kMixPeriod)), 0);
  std::vector<std::vector<int32_t>> windows;
  for (auto begin = leaves.begin(); begin != leaves.end(); begin += kWindow)
    windows.emplace_back(begin, begin + kWindow);
  // 32,640 pairs of arrangements agree at half of the places, give or take six deviations of 16.
  for (size_t i = 0; i < windows.size(); ++i) {
    for (size_t j = 0; j < i; ++j)
      ASSERT_NEAR(static_cast<double>(differences(windows[i], windows[j])), 512, 96) << i << " " << j;
  }
}

TEST(MixNodeTest, places_of_a_part_in_a_window_are_uniform) {
  const auto node = mixed({500, 500}, weighted({1023, 1}, 1000 * kWindow));
  std::vector<double> places;
  for (int64_t draw = 0; draw < 1000; ++draw)
    places.push_back(static_cast<double>(node->position_of(1, {draw / 500, draw % 500}).position % kWindow));
  std::sort(places.begin(), places.end());
  // Kolmogorov and Smirnov: 1.95 / √1000 is exceeded once in a thousand times.
  double distance = 0;
  for (size_t i = 0; i < places.size(); ++i)
    distance = std::max(distance, std::abs((places[i] + 0.5) / kWindow - (static_cast<double>(i) + 0.5) / 1000));
  EXPECT_LT(distance, 1.95 / std::sqrt(1000));
}

// States of runs rely on it.
TEST(MixNodeTest, draws_never_change) {
  const std::vector<int32_t> leaves = leaves_of(*mixed({500, 500, 500}, weighted({0.5, 0.3, 0.2}, 2000)), 3);
  EXPECT_EQ((std::vector<int32_t>(leaves.begin() + 1500, leaves.begin() + 1524)),
            (std::vector<int32_t>{1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 2, 0, 1, 1, 2, 2, 0, 1, 0, 2, 0, 2}));
}

TEST(MixNodeTest, seeds_differ) {
  const auto leaves = [](uint64_t seed) { return leaves_of(*mixed({900, 900}, weighted({1, 1}, 4000, seed)), 0); };
  EXPECT_GT(differences(leaves(1), leaves(2)), 1800);
  EXPECT_EQ(leaves(1), leaves(1));
}

TEST(MixNodeTest, another_part_changes_no_order_of_a_part) {
  const auto two = mixed({2000, 500}, weighted({2, 1}, 6000));
  const auto three = mixed({2000, 500, 700}, weighted({2, 1, 3}, 12'000));
  for (const int32_t leaf : {0, 1}) {
    std::vector<int64_t> a = samples_of(*two, leaf, 3), b = samples_of(*three, leaf, 3);
    const size_t both = std::min(a.size(), b.size());
    EXPECT_GT(both, 4000);
    a.resize(both);
    b.resize(both);
    EXPECT_EQ(a, b);
  }
}

TEST(MixNodeTest, three_samples_beside_ten_million) {
  const auto node = mixed({10'000'000, 3}, weighted({10'000'000, 3}, 10'000'003));
  std::vector<int64_t> made(2);
  std::vector<Draw> draws(5000);
  for (int64_t begin = 0; begin + 5000 <= node->size(); begin += 5000) {
    node->draws(0, begin, draws);
    for (const Draw& draw : draws) ++made[static_cast<size_t>(draw.leaf)];
  }
  // A weight is at least 2^-16: more than its share, as promised.
  EXPECT_NEAR(static_cast<double>(made[1]), 10'000'000.0 / kMixPeriod, 2);
  // As small as it is, it comes in every pass in the order of that pass.
  for (int64_t draw = 0; draw < 100; ++draw) {
    const Order::Use at = node->position_of(1, {draw, draw % 3});
    Draw found;
    node->draws(at.epoch, at.position, {&found, 1});
    EXPECT_EQ(found, (Draw{1, 0, draw, draw % 3, node->order(1).id_at(draw, draw % 3)}));
  }
}

// 2^20 epochs of 2^40 draws, at their end.
TEST(MixNodeTest, large_numbers) {
  const int64_t all = int64_t{1} << 40, epoch = (int64_t{1} << 20) - 1;
  MixOptions options = weighted({1, 2, 0.001}, all);
  options.stages.push_back({int64_t{1} << 50, {5, 1, 1}});
  const auto node = mixed({all, 12'345, 3}, options);
  for (const int64_t begin : {int64_t{0}, all / 3, all - 3000}) {
    std::vector<Draw> draws(3000);
    node->draws(epoch, begin, draws);
    for (size_t i = 0; i < draws.size(); i += 7) {
      const auto leaf = static_cast<size_t>(draws[i].leaf);
      const Order::Use at{epoch, begin + static_cast<int64_t>(i)}, draw{draws[i].pass, draws[i].place};
      ASSERT_EQ(node->next_draw(leaf, at), draw);
      ASSERT_EQ(node->position_of(leaf, draw), at);
    }
  }
  EXPECT_EQ(node->position_of(2, {int64_t{1} << 61, 0}), PlanNode::kNever);
}

TEST(MixNodeTest, a_part_without_a_weight_never_draws_again) {
  MixOptions options = weighted({1, 1}, 2000);
  options.stages.push_back({1000, {1, 0}});
  const auto node = mixed({50, 70}, options);
  const Order::Use next = node->next_draw(1, {0, 1000});
  EXPECT_EQ(node->next_draw(1, {9, 0}), next);
  EXPECT_EQ(node->position_of(1, next), PlanNode::kNever);
  EXPECT_EQ(node->next_use(1, 3, {1, 0}), PlanNode::kNever);
}

TEST(MixNodeTest, a_mix_goes_on_from_the_draws_before_a_stage) {
  MixOptions options = weighted({3, 1, 0}, 900);
  options.stages.push_back({700, {1, 1, 2}});
  options.stages.push_back({4001, {0, 1, 5}});
  options.stages.push_back({9000, {1, 0, 0}});
  const auto whole = mixed({100, 40, 70}, options);
  for (const int64_t from : {700, 4001, 9000}) {
    MixOptions later = options;
    std::vector<int64_t> drawn;
    for (size_t leaf = 0; leaf < 3; ++leaf) {
      const Order::Use draw = whole->next_draw(leaf, {from / 900, from % 900});
      drawn.push_back(draw.epoch * whole->order(leaf).size() + draw.position);
    }
    std::erase_if(later.stages, [&](const MixOptions::Stage& stage) { return stage.from < from; });
    const auto node = continued_mix_node(shuffled_leaves({100, 40, 70}), later, drawn).value();
    ASSERT_EQ(node->size(), 900);
    for (int64_t at = from; at < 12'000; ++at) {
      Draw expected, found;
      const Order::Use use{at / 900, at % 900};
      whole->draws(use.epoch, use.position, {&expected, 1});
      node->draws(use.epoch, use.position, {&found, 1});
      ASSERT_EQ(found, expected) << "at " << at << " from " << from;
      const auto leaf = static_cast<size_t>(found.leaf);
      ASSERT_EQ(node->position_of(leaf, {found.pass, found.place}), use);
      for (size_t any = 0; any < 3; ++any) ASSERT_EQ(node->next_draw(any, use), whole->next_draw(any, use));
    }
    // Positions and draws before the first stage come before all others.
    EXPECT_EQ(node->next_draw(0, {0, 3}), node->next_draw(0, {from / 900, from % 900}));
    EXPECT_EQ(node->position_of(0, {0, 0}), (Order::Use{0, 0}));
  }
}

TEST(MixNodeTest, whole_weights_stay_what_they_are) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> weights(1 + random() % 300);
    for (double& weight : weights)
      weight = random() % 5 == 0 ? 0 : std::exp(static_cast<double>(random() % 3000) / 100 - 20);
    weights[0] = 1;
    const std::vector<int64_t> whole = whole_weights(weights);
    EXPECT_EQ(whole_weights(std::vector<double>(whole.begin(), whole.end())), whole);
  }
}

struct BadMix {
  std::string message;
  MixOptions options;
  std::vector<int64_t> sizes = {10, 20, 0};
};

TEST(MixNodeTest, bad_options) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  const auto staged = [](std::vector<MixOptions::Stage> stages) {
    MixOptions options;
    options.stages = std::move(stages);
    return options;
  };
  MixOptions all = staged({{0, {1, 1, 0}}, {5, {1, 0, 0}}});
  all.end = MixEnd::kAll;
  MixOptions halves = staged({{0, std::vector<double>(70'000)}, {9, std::vector<double>(70'000)}});
  for (size_t i = 0; i < 70'000; ++i) halves.stages[i % 2].weights[i] = 1;
  halves.ramp_linear = true;
  const std::vector<BadMix> cases = {
      {"a mix has no parts", staged({{0, {}}}), {}},
      {"a mix has no stages", staged({})},
      {"stage 0 of a mix begins at 3; the first stage begins at 0", staged({{3, {1, 1, 0}}})},
      {"stage 2 of a mix begins at 5, and the one before at 5",
       staged({{0, {1, 1, 0}}, {5, {1, 1, 0}}, {5, {1, 1, 0}}})},
      {"stage 1 of a mix begins at 2^62", staged({{0, {1, 1, 0}}, {int64_t{1} << 62, {1, 1, 0}}})},
      {"stage 0 of a mix has 2 weights for 3 parts", staged({{0, {1, 1}}})},
      {"the weight of part 1 is -1", staged({{0, {1, -1, 0}}})},
      {"the weight of part 1 is nan", staged({{0, {1, nan, 0}}})},
      {"the weight of part 0 is inf", staged({{0, {infinite, 1, 0}}})},
      {"stage 1 of a mix: the weight of part 2 is above 0, but the part has no samples",
       staged({{0, {1, 1, 0}}, {9, {1, 1, 1}}})},
      {"stage 0 of a mix: all weights are 0", staged({{0, {0, 0, 0}}})},
      {"samples=-1", weighted({1, 1, 0}, -1)},
      {"part 1 never is", all},
      {"stage 0 of a mix has 70000 parts with a weight above 0", staged({{0, std::vector<double>(70'000, 1)}}),
       std::vector<int64_t>(70'000, 1)},
      {"stage 1 of a mix and the one before have 70000 parts", halves, std::vector<int64_t>(70'000, 1)},
      {"2^62 samples or more", weighted({1, 1, 0}), {(int64_t{1} << 62) - 1, (int64_t{1} << 62) - 1, 0}},
  };
  for (const BadMix& bad : cases) {
    const auto node = mix_node(shuffled_leaves(bad.sizes), bad.options);
    ASSERT_FALSE(node.ok()) << bad.message;
    EXPECT_EQ(node.status().code(), Code::kInvalidArgument);
    EXPECT_NE(node.status().message().find(bad.message), std::string::npos) << node.status().message();
  }
}

TEST(MixNodeTest, bad_draws_before_a_mix_goes_on) {
  const auto refused = [](const std::vector<int64_t>& drawn, int64_t samples, int64_t from = 2) {
    MixOptions options = weighted({1, 1}, samples);
    options.stages[0].from = from;
    return continued_mix_node(shuffled_leaves({10, 20}), options, drawn).status().message();
  };
  EXPECT_NE(refused({1, 1}, 0).find("needs samples="), std::string::npos);
  EXPECT_NE(refused({1, 1, 1}, 9).find("the draws of 3 parts, and has 2"), std::string::npos);
  EXPECT_NE(refused({1, -1}, 9).find("has made -1 draws"), std::string::npos);
  EXPECT_NE(refused({int64_t{1} << 61, 1}, 9).find("has made 2305843009213693952 draws"), std::string::npos);
  EXPECT_NE(refused({1, 1}, 9, -3).find("begins at -3"), std::string::npos);
  EXPECT_EQ(refused({1, 1}, 9), "");
}

}  // namespace
}  // namespace forebay
