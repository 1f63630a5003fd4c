#include "plan/rehearsal.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include <gtest/gtest.h>

namespace forebay {
namespace {

using Samples = std::vector<Rehearsal::Sample>;

std::set<int64_t> ids_of(const Rehearsal& rehearsal) {
  std::set<int64_t> ids;
  for (const ReplaySample& one : rehearsal.all()) ids.insert(one.id);
  return ids;
}

std::vector<int64_t> drawn_of(const Rehearsal& rehearsal, const StepNumber& at) {
  std::vector<int64_t> ids;
  for (const ReplaySample& one : rehearsal.draw(at)) ids.push_back(one.id);
  return ids;
}

/// Offers `steps` steps of `batch` samples with labels `label(id)`.
template <typename Label>
void run(Rehearsal& rehearsal, int64_t steps, int64_t batch, Label label) {
  for (int64_t step = 0; step < steps; ++step) {
    Samples fresh;
    for (int64_t i = 0; i < batch; ++i) fresh.push_back({step * batch + i, label(step * batch + i)});
    rehearsal.offer({0, step}, fresh);
  }
}

double chi_square(const std::vector<double>& counts, double expected, double variance_part) {
  double sum = 0;
  for (const double count : counts) sum += (count - expected) * (count - expected) / (expected * variance_part);
  return sum;
}

// Uniform over age: each of the 200 samples of a class stays with probability 10 / 200.
TEST(Rehearsal, a_reservoir_is_uniform_over_all_that_came) {
  constexpr int kRuns = 2000, kSamples = 200, kCapacity = 10;
  std::vector<double> kept(kSamples);
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    Rehearsal rehearsal({.seed = seed, .capacity = kCapacity});
    run(rehearsal, 20, 10, [](int64_t) { return 3; });
    ASSERT_EQ(rehearsal.size(), kCapacity);
    for (const int64_t id : ids_of(rehearsal)) kept[static_cast<size_t>(id)] += 1;
  }
  EXPECT_LT(chi_square(kept, double{kRuns} * kCapacity / kSamples, 1 - double{kCapacity} / kSamples), 290)
      << "199 degrees of freedom: above once in 30,000 draws";
}

TEST(Rehearsal, each_class_has_its_own_places) {
  Rehearsal rehearsal({.seed = 1, .capacity = 5});
  run(rehearsal, 100, 8, [](int64_t id) { return id % 100 == 0 ? 9 : id % 2; });
  EXPECT_EQ(rehearsal.classes().size(), 3u);
  for (const auto& [label, one] : rehearsal.classes()) {
    EXPECT_EQ(one.samples.size(), 5u);
    for (const auto& [id, epoch] : one.samples) EXPECT_EQ(id % 100 == 0 ? 9 : id % 2, label);
  }
}

TEST(Rehearsal, the_recent_ones_are_the_last) {
  Rehearsal rehearsal({.seed = 1, .policy = RehearsalPolicy::kRecent, .capacity = 6});
  run(rehearsal, 10, 7, [](int64_t) { return 0; });
  EXPECT_EQ(ids_of(rehearsal), (std::set<int64_t>{64, 65, 66, 67, 68, 69}));
}

// Offers 900 samples of one class, then 90 of another, then 10 of a third. If there are 30 places,
// each class ends with about ten, and no smaller class has lost its samples.
TEST(Rehearsal, balanced_shares_the_places_among_classes) {
  Rehearsal rehearsal({.seed = 4, .policy = RehearsalPolicy::kBalanced, .capacity = 30});
  run(rehearsal, 100, 10, [](int64_t id) { return id < 900 ? 0 : id < 990 ? 1 : 2; });
  EXPECT_EQ(rehearsal.size(), 30);
  for (const auto& [label, one] : rehearsal.classes())
    EXPECT_NEAR(static_cast<double>(one.samples.size()), 10, 1) << label;
}

TEST(Rehearsal, draws_are_uniform_over_what_is_kept_and_repeat_nothing) {
  Rehearsal rehearsal({.seed = 9, .capacity = 20, .draws = 8});
  run(rehearsal, 30, 10, [](int64_t id) { return id % 3; });
  const std::set<int64_t> kept = ids_of(rehearsal);
  ASSERT_EQ(kept.size(), 60u);
  std::map<int64_t, double> drawn;
  for (int64_t step = 0; step < 6000; ++step) {
    const std::vector<int64_t> ids = drawn_of(rehearsal, {1, step});
    ASSERT_EQ(std::set<int64_t>(ids.begin(), ids.end()).size(), 8u);
    for (const int64_t id : ids) drawn[id] += 1;
  }
  std::vector<double> counts;
  for (const auto& [id, count] : drawn) {
    EXPECT_TRUE(kept.contains(id));
    counts.push_back(count);
  }
  EXPECT_EQ(counts.size(), 60u);
  EXPECT_LT(chi_square(counts, 6000 * 8 / 60.0, 1 - 8 / 60.0), 110) << "59 degrees of freedom";
}

TEST(Rehearsal, few_are_repeated_and_none_gives_none) {
  Rehearsal rehearsal({.seed = 9, .capacity = 20, .draws = 8});
  EXPECT_TRUE(rehearsal.draw({0, 0}).empty());
  rehearsal.offer({0, 0}, Samples{{1, 0}, {2, 0}, {3, 0}});
  const std::vector<int64_t> ids = drawn_of(rehearsal, {0, 1});
  EXPECT_EQ(ids.size(), 8u);
  EXPECT_EQ(std::set<int64_t>(ids.begin(), ids.end()), (std::set<int64_t>{1, 2, 3}));
}

// If C of the b samples in a step are candidates, each sample is one with probability C / b.
TEST(Rehearsal, candidates_are_a_uniform_choice_of_each_step) {
  std::vector<double> kept(16);
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Rehearsal rehearsal({.seed = seed, .capacity = 100, .candidates = 4});
    Samples fresh;
    for (int64_t i = 0; i < 16; ++i) fresh.push_back({i, 0});
    rehearsal.offer({0, 7}, fresh);
    ASSERT_EQ(rehearsal.size(), 4);
    for (const int64_t id : ids_of(rehearsal)) kept[static_cast<size_t>(id)] += 1;
  }
  EXPECT_LT(chi_square(kept, 3000 * 4 / 16.0, 1 - 4 / 16.0), 45);
}

TEST(Rehearsal, says_who_entered_and_who_left) {
  for (const RehearsalPolicy policy :
       {RehearsalPolicy::kReservoir, RehearsalPolicy::kBalanced, RehearsalPolicy::kRecent}) {
    Rehearsal rehearsal({.seed = 2, .policy = policy, .capacity = 7});
    std::set<int64_t> kept;
    std::mt19937_64 draw(1);
    for (int64_t step = 0; step < 200; ++step) {
      Samples fresh;
      for (int64_t i = 0; i < 5; ++i) fresh.push_back({step * 5 + i, static_cast<int64_t>(draw() % 4)});
      const Rehearsal::Changes changes = rehearsal.offer({0, step}, fresh);
      for (const auto& [id, epoch] : changes.left) ASSERT_EQ(kept.erase(id), 1u);
      for (const auto& [id, epoch] : changes.entered) ASSERT_TRUE(kept.insert(id).second);
      ASSERT_EQ(kept, ids_of(rehearsal));
    }
  }
}

TEST(Rehearsal, knows_the_epoch_in_which_a_sample_was_new) {
  Rehearsal rehearsal({.seed = 2, .policy = RehearsalPolicy::kRecent, .capacity = 3, .draws = 3});
  rehearsal.offer({0, 0}, Samples{{7, 0}, {8, 0}});
  const Rehearsal::Changes changes = rehearsal.offer({1, 0}, Samples{{8, 0}, {7, 0}});
  EXPECT_EQ(changes.entered, (std::vector<ReplaySample>{{8, 1}, {7, 1}}));
  EXPECT_EQ(changes.left, (std::vector<ReplaySample>{{7, 0}}));
  std::vector<ReplaySample> drawn = rehearsal.draw({1, 1});
  std::ranges::sort(drawn, {}, [](const ReplaySample& one) { return std::pair(one.id, one.epoch); });
  EXPECT_EQ(drawn, (std::vector<ReplaySample>{{7, 1}, {8, 0}, {8, 1}}));
}

TEST(Rehearsal, goes_on_from_what_it_kept_as_if_it_had_not_stopped) {
  const RehearsalOptions options{.seed = 2, .policy = RehearsalPolicy::kBalanced, .capacity = 12, .draws = 4};
  Rehearsal whole(options);
  run(whole, 50, 6, [](int64_t id) { return id % 5; });
  Rehearsal resumed(options);
  resumed.restore(whole.classes());
  for (int64_t step = 50; step < 60; ++step) {
    EXPECT_EQ(resumed.draw({0, step}), whole.draw({0, step}));
    const Samples fresh = {{step * 6, step % 5}, {step * 6 + 1, 2}};
    whole.offer({0, step}, fresh);
    resumed.offer({0, step}, fresh);
  }
  EXPECT_EQ(resumed.classes(), whole.classes());
}

}  // namespace
}  // namespace forebay
