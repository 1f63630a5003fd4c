#include "loader/compile/sizing.h"

#include <gtest/gtest.h>

#include "pipeline/selection.h"
#include "runtime/host.h"

namespace forebay {
namespace {

class Nothing final : public SampleSource {
 public:
  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return 1000; }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t) const override { return ""; }
  Fetch fetch(int64_t) const override { return {}; }
  Status load(int64_t, Buffer, Record&) const override { return {}; }

 private:
  Schema schema_;
};

BranchPlan plan_of(size_t row_bytes) {
  BranchPlan plan;
  plan.source = std::make_shared<Nothing>();
  plan.selection = first_samples(1000);
  OutputField output;
  output.row_bytes = row_bytes;
  plan.outputs.push_back(output);
  return plan;
}

Result<RunnerOptions> sizes_for(const BranchPlan& plan, const SizingInput& input) {
  return choose_sizes(ExecutionPlan(std::shared_ptr<const BranchPlan>(std::shared_ptr<void>(), &plan)), input);
}

TEST(Sizing, chooses_settings_that_the_user_left_out) {
  const Result<RunnerOptions> options = sizes_for(plan_of(100), {.run = {.rows = 32}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->threads, usable_cores());
  EXPECT_GE(options->requests, 1);
  EXPECT_GE(options->window_batches, 3);
  EXPECT_LE(options->window_batches, 256);
  EXPECT_GE(options->memory.share.wanted, 3 * 3200u);
  EXPECT_LE(options->memory.share.wanted, usable_memory() / 4);
  EXPECT_GE(options->memory.share.shared_limit, options->memory.share.wanted) << "a rare large sample may raise it";
}

TEST(Sizing, a_large_batch_that_comes_back_has_room_beside_the_window) {
  constexpr uint64_t kBatch = uint64_t{32} << 20;
  const Result<RunnerOptions> options = sizes_for(plan_of(kBatch / 32), {.threads = 1, .run = {.rows = 32}});
  ASSERT_TRUE(options.ok());
  EXPECT_GE(options->memory.share.wanted,
            std::min(static_cast<uint64_t>(options->window_batches + 1) * kBatch, usable_memory() / 4));
}

TEST(Sizing, user_settings_are_unchanged) {
  const Result<RunnerOptions> options =
      sizes_for(plan_of(100), {.threads = 3, .requests = 5, .memory = 1 << 20, .run = {.rows = 32}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->threads, 3);
  EXPECT_EQ(options->requests, 5);
  EXPECT_EQ(options->memory.share.wanted, uint64_t{1} << 20);
  EXPECT_EQ(options->memory.share.shared_limit, 0u) << "what is given is never exceeded";
  EXPECT_LE(options->memory.per_thread * 3 + 3200, options->memory.share.wanted);
}

TEST(Sizing, memory_for_less_than_one_batch_is_refused_with_the_figure) {
  const Status status = sizes_for(plan_of(100), {.memory = 3199, .run = {.rows = 32}}).status();
  EXPECT_EQ(status.code(), Code::kOutOfBudget);
  EXPECT_GE(status.bytes_needed(), 3200u);
  EXPECT_TRUE(sizes_for(plan_of(100), {.memory = status.bytes_needed(), .run = {.rows = 32}}).ok());
}

TEST(Sizing, replayed_rows_count_as_rows_of_the_batch) {
  EXPECT_EQ(sizes_for(plan_of(100), {.memory = 3999, .run = {.rows = 40, .replayed_rows = 8}}).status().code(),
            Code::kOutOfBudget);
  EXPECT_TRUE(sizes_for(plan_of(100), {.memory = 5000, .run = {.rows = 40, .replayed_rows = 8}}).ok());
}

TEST(Sizing, impossible_settings_are_refused) {
  for (const int threads : {0, -1, 1'000'000}) {
    EXPECT_EQ(sizes_for(plan_of(1), SizingInput{.threads = threads, .requests = {}, .memory = {}}).status().code(),
              Code::kInvalidArgument);
  }
  for (const int requests : {0, -1, 10'000'000}) {
    EXPECT_EQ(sizes_for(plan_of(1), SizingInput{.threads = {}, .requests = requests, .memory = {}}).status().code(),
              Code::kInvalidArgument);
  }
}

TEST(Sizing, ranks_of_a_host_share_it) {
  const Result<RunnerOptions> options = sizes_for(plan_of(100), {.run = {.rows = 32}, .local_ranks = 1000});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->threads, 1);
}

}  // namespace
}  // namespace forebay
