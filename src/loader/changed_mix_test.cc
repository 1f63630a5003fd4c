// Tests a loader whose mix changes while it runs, through the C++ API.
#include <gtest/gtest.h>

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
