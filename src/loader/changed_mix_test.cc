// Tests a loader whose mix or draws change while it runs, through the C++ API.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "loader/loader_test_support.h"

namespace forebay {
namespace {

using namespace loader_test;

Pipeline mixed_numbers(double a, double b, int64_t rows_of_b = 300) {
  return mix({{"a", arrays({{"x", counting(500)}}).shuffle()}, {"b", arrays({{"x", counting(rows_of_b)}}).shuffle()}},
             {.weights = {{"a", a}, {"b", b}}, .samples = 2048})
      .batch(16);
}

void take(Loader& loader, int batches) {
  for (int i = 0; i < batches; ++i) ASSERT_TRUE(loader.next().value().has_value());
}

TEST(ChangedMix, weights_hold_from_the_next_batch_on_and_are_in_the_state) {
  const auto loader = opened(mixed_numbers(1, 1), {.seed = 7});
  take(*loader, 5);
  const std::string before = loader->state(), fingerprint = loader->fingerprint();
  ASSERT_TRUE(loader->set_weights({{"a", 1}, {"b", 7}}).ok());
  EXPECT_NE(loader->fingerprint(), fingerprint);
  const std::string after = loader->state();
  ASSERT_TRUE(loader->set_weights({{"a", 2}, {"b", 14}}).ok());
  EXPECT_EQ(loader->state(), after) << "these are the weights that hold already";

  const std::vector<Batch> rest = epoch_of(*loader);
  const auto resumed = opened(mixed_numbers(1, 1), {.seed = 7}), other = opened(mixed_numbers(1, 7), {.seed = 7});
  ASSERT_TRUE(resumed->load_state(after).ok());
  EXPECT_EQ(digest_of(epoch_of(*resumed)), digest_of(rest));
  EXPECT_EQ(other->load_state(before).code(), Code::kStateMismatch);
  ASSERT_TRUE(other->load_state_of_changed_parts(before).ok());
  EXPECT_EQ(digest_of(epoch_of(*other)), digest_of(rest));
}

TEST(ChangedMix, the_plan_of_later_epochs_is_what_comes) {
  const auto loader = opened(mixed_numbers(1, 1), {.seed = 7});
  take(*loader, 5);
  ASSERT_TRUE(loader->set_weights({{"a", 0}, {"b", 1}}).ok());
  EXPECT_NE(loader->plan(0, 0, 1, 3).status().message().find("changed in epoch 0, at position 80"), std::string::npos);
  (void)epoch_of(*loader);
  const Result<EpochPlan> plan = loader->plan(1, 0, 1, INT64_MAX);
  ASSERT_TRUE(plan.ok());
  const std::vector<Batch> batches = epoch_of(*loader);
  ASSERT_EQ(batches.size(), plan->first.size());
  for (size_t step = 0; step < batches.size(); ++step) EXPECT_EQ(batches[step].ids, plan->first[step].ids);
  EXPECT_EQ(loader->set_epoch(0).code(), Code::kInvalidArgument);
}

TEST(ChangedMix, errors_change_nothing) {
  const auto loader = opened(mixed_numbers(1, 1), {.seed = 7});
  take(*loader, 5);
  const std::string before = loader->state();
  EXPECT_EQ(loader->set_weights({{"a", 1}}).code(), Code::kInvalidArgument);
  EXPECT_EQ(loader->set_weights({{"a", 1}, {"b", 1}, {"c", 1}}).code(), Code::kInvalidArgument);
  const auto alone = opened(arrays({{"x", counting(10)}}).batch(2));
  EXPECT_EQ(alone->set_weights({{"a", 1}}).code(), Code::kInvalidArgument);
  EXPECT_EQ(alone->load_state_of_changed_parts(before).code(), Code::kInvalidArgument);
  EXPECT_EQ(loader->load_state_of_changed_parts(alone->state()).code(), Code::kInvalidArgument);
  EXPECT_EQ(loader->state(), before);
}

Pipeline drawn_numbers(int64_t draws = 200) {
  return arrays({{"x", counting(50)}}).shuffle().sample({.n = draws}).batch(16);
}

// A weight of 1 for even samples, of 3 for odd ones.
std::vector<double> odd_weights() {
  std::vector<double> weights;
  for (int i = 0; i < 50; ++i) weights.push_back(i % 2 == 0 ? 1 : 3);
  return weights;
}

TEST(ChangedDraws, weights_of_samples_hold_from_the_next_batch_on) {
  const auto loader = opened(drawn_numbers(), {.seed = 7}), unchanged = opened(drawn_numbers(), {.seed = 7});
  take(*loader, 5);
  take(*unchanged, 5);
  const std::string before = loader->state(), fingerprint = loader->fingerprint();
  EXPECT_EQ(before, unchanged->state());
  ASSERT_TRUE(loader->set_sampling(odd_weights(), "7").ok());
  EXPECT_NE(loader->fingerprint(), fingerprint);
  const std::string after = loader->state();
  EXPECT_LT(after.size(), 512u);
  ASSERT_TRUE(loader->set_sampling(odd_weights(), "7").ok());
  EXPECT_EQ(loader->state(), after) << "these are the weights that hold already";
  std::vector<int> counts(50);
  const std::vector<Batch> rest = epoch_of(*loader);
  for (const Batch& batch : rest)
    for (const int64_t id : batch.ids) ++counts[static_cast<size_t>(id)];
  for (size_t id = 0; id < counts.size(); ++id) {
    const double share = 120.0 * (id % 2 == 0 ? 1 : 3) / 100;
    EXPECT_TRUE(counts[id] == std::floor(share) || counts[id] == std::ceil(share)) << id << ": " << counts[id];
  }

  const auto resumed = opened(drawn_numbers(), {.seed = 7});
  const Status without = resumed->load_state(after);
  EXPECT_EQ(without.code(), Code::kStateMismatch);
  EXPECT_NE(without.message().find("call set_sampling() with the same weights before"), std::string::npos);
  ASSERT_TRUE(resumed->set_sampling(odd_weights(), "8").ok());
  EXPECT_EQ(resumed->load_state(after).code(), Code::kStateMismatch) << "another version";
  ASSERT_TRUE(resumed->set_sampling(odd_weights(), "7").ok());
  ASSERT_TRUE(resumed->load_state(after).ok());
  EXPECT_EQ(resumed->state(), after);
  EXPECT_EQ(digest_of(epoch_of(*resumed)), digest_of(rest));
  ASSERT_TRUE(resumed->load_state(before).ok()) << "from before the change: the draws of the pipeline";
  EXPECT_EQ(digest_of(epoch_of(*resumed)), digest_of(epoch_of(*unchanged)));
}

TEST(ChangedDraws, errors_change_nothing) {
  const auto loader = opened(drawn_numbers(), {.seed = 7});
  take(*loader, 5);
  const std::string before = loader->state();
  std::vector<double> negative = odd_weights();
  negative[3] = -1;
  EXPECT_NE(loader->set_sampling(negative).message().find("the weight of sample 3 (row 3) is -1"), std::string::npos)
      << loader->set_sampling(negative).message();
  EXPECT_EQ(loader->set_sampling({1, 2}).code(), Code::kInvalidArgument);
  EXPECT_EQ(loader->set_sampling(std::vector<double>(50)).code(), Code::kInvalidArgument);
  EXPECT_EQ(loader->set_sampling(odd_weights(), std::string(65, 'x')).code(), Code::kInvalidArgument);
  EXPECT_EQ(loader->set_sampling(odd_weights(), "\xff").code(), Code::kInvalidArgument);
  EXPECT_EQ(loader->set_sampling(odd_weights(), "", "web").code(), Code::kInvalidArgument);
  EXPECT_EQ(loader->state(), before);
  const auto whole = opened(arrays({{"x", counting(50)}}).batch(2));
  EXPECT_EQ(whole->set_sampling(odd_weights()).code(), Code::kInvalidArgument);
}

TEST(ChangedMix, a_part_that_grew_goes_on) {
  const auto loader = opened(mixed_numbers(1, 1), {.seed = 7});
  take(*loader, 5);
  const std::string before = loader->state();
  std::vector<int64_t> ids;
  const auto grown = opened(mixed_numbers(1, 1, 400), {.seed = 7});
  ASSERT_TRUE(grown->load_state_of_changed_parts(before).ok());
  for (const auto* each : {&loader, &grown}) {
    std::vector<int64_t> drawn;
    for (const Batch& batch : epoch_of(**each)) {
      for (size_t row = 0; row < batch.ids.size(); ++row)
        if (batch.parts[row] == 1) drawn.push_back(batch.ids[row]);
    }
    drawn.resize(200);  // of the pass that had begun
    if (ids.empty()) ids = drawn;
    EXPECT_EQ(drawn, ids);
  }
}

}  // namespace
}  // namespace forebay
