#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>

#include "pipeline/run/runner_test_support.h"

// Tests which tasks get memory, which are revoked, and the error if memory never suffices.

namespace forebay {
namespace {

using namespace runner_test;
using namespace std::chrono_literals;

TEST(RunnerMemory, oldest_gets_its_bytes) {
  // The first object is the largest, and the budget is its size plus one batch.
  for (const bool slow : {false, true}) {
    for (const int threads : {1, 4}) {
      Rig setup;
      setup.sizes.assign(64, 1000);
      setup.sizes[0] = 200'000;
      setup.sizes[33] = 200'000;
      setup.shuffled = false;
      setup.batch = 16;
      if (slow) setup.store = jittery(setup.sizes);
      const uint64_t batch_bytes = 16 * (16 + 8);
      setup.options = {.threads = threads,
                       .requests = 32,
                       .window_batches = 4,
                       .memory = {.share = {.wanted = 200'000 + batch_bytes}}};
      const auto runner = setup.run();
      const Outcome outcome = drain(*runner);
      EXPECT_EQ(outcome.raised, std::vector<std::string>());
      EXPECT_EQ(outcome.ids.size(), 64u);
      EXPECT_LE(runner->stats().memory.peak, setup.options.memory.share.wanted);
    }
  }
}

TEST(RunnerMemory, younger_elements_give_their_bytes_back) {
  Rig setup;
  setup.sizes.assign(40, 1000);
  setup.sizes[1] = 50'000;
  setup.shuffled = false;
  setup.batch = 2;
  setup.options = {.threads = 1, .requests = 32, .window_batches = 16, .memory = {.share = {.wanted = 52'000}}};
  // The small objects after the large one have been fetched when it runs. Its first attempt fails,
  // so that it asks for more memory when the budget is full.
  std::atomic<int> tries = 0;
  setup.ops.insert(setup.ops.begin(), {"hungry", [&tries](Record&, const SampleContext& context) -> Status {
                                         if (context.key.id == 1) ++tries;
                                         return context.key.id == 1 ? context.memory->reserve(1500) : Status();
                                       }});
  const auto runner = setup.run();
  const Outcome outcome = drain(*runner);
  EXPECT_EQ(outcome.raised, std::vector<std::string>());
  EXPECT_EQ(outcome.ids.size(), 40u);
  EXPECT_GE(tries, 2) << "the first try says what is needed";
  EXPECT_LE(runner->stats().memory.peak, 52'000u);
}

TEST(RunnerMemory, what_never_fits_is_refused_with_the_figure) {
  for (const BadSample policy : {BadSample::kRaise, BadSample::kSkip, BadSample::kReplace}) {
    Rig setup;
    setup.shuffled = false;
    setup.ops = {{"summary", summary({}, 10'000)}};
    setup.options.memory.share.wanted = 9000;
    setup.options.bad_sample = policy;
    const auto runner = setup.run();
    const Result<Runner::Delivery> delivery = runner->next_for(20s);
    ASSERT_EQ(delivery.status().code(), Code::kOutOfBudget);
    EXPECT_EQ(delivery.status().key(), "object 0");
    const uint64_t needed = delivery.status().bytes_needed();
    EXPECT_GE(needed, 11'000u);
    EXPECT_LE(runner->stats().memory.peak, 9000u);
    runner->close();
    setup.options.memory.share.wanted = needed;
    EXPECT_EQ(drain(*setup.run()).raised, std::vector<std::string>()) << "the figure told is enough";
  }
}

TEST(RunnerMemory, a_budget_that_nobody_fixed_is_raised_for_a_sample_that_needs_more) {
  Rig setup;
  setup.ops = {{"summary", summary({}, 10'000)}};
  setup.options.memory.share.wanted = 9000;
  setup.options.memory.share.shared_limit = 20'000;
  const auto runner = setup.run();
  EXPECT_EQ(drain(*runner).ids.size(), 50u);
  const ByteBudget::Snapshot memory = runner->stats().memory;
  EXPECT_GT(memory.capacity, 9000u);
  EXPECT_LE(memory.capacity, 20'000u);
  EXPECT_LE(memory.peak, memory.capacity);
}

TEST(RunnerMemory, values_of_unknown_size_are_joined_within_the_budget) {
  Rig setup;
  setup.ops.clear();
  setup.made.reset();
  setup.sizes = mixed_sizes(40);
  const Outcome expected = drain(*setup.run());
  EXPECT_EQ(expected.raised, std::vector<std::string>());
  uint64_t total = 0;
  for (const uint64_t size : setup.sizes) total += size;
  setup.options.memory.share.wanted = total;  // enough for one batch in two copies, and not for three
  const auto runner = setup.run();
  const Outcome outcome = drain(*runner);
  EXPECT_EQ(outcome.raised, std::vector<std::string>());
  EXPECT_EQ(outcome.digest, expected.digest);
  EXPECT_LE(runner->stats().memory.peak, total);
}

TEST(RunnerMemory, padding_that_fits_is_made) {
  Rig setup = padded(200'000);
  const auto runner = setup.run();
  const Result<Runner::Delivery> delivery = runner->next_for(20s);
  ASSERT_TRUE(delivery.ok()) << delivery.status().to_string();
  const BatchField* field = delivery->batch->find("bytes");
  EXPECT_EQ(field->values.shape, (Shape{16, 10'000}));
  EXPECT_EQ(field->row(0)[0], 3);
  EXPECT_EQ(field->row(0)[1], 9);
  EXPECT_EQ(field->row(5)[9999], 3);
  EXPECT_LE(runner->stats().memory.peak, 200'000u);
}

TEST(RunnerMemory, padding_that_never_fits_is_told_instead_of_tried_for_ever) {
  Rig setup = padded(100'000);
  const auto runner = setup.run();
  const Result<Runner::Delivery> delivery = runner->next_for(20s);
  ASSERT_EQ(delivery.status().code(), Code::kOutOfBudget) << delivery.status().to_string();
  EXPECT_GE(delivery.status().bytes_needed(), 160'000u);
  EXPECT_LE(delivery.status().bytes_needed(), 200'000u);
}

TEST(RunnerMemory, values_whose_size_nobody_announced_stay_within_the_budget) {
  // Nothing is fetched, and every row makes 5,000 bytes. They count before they are stored.
  Rig setup;
  setup.sizes.assign(64, 0);
  setup.batch = 4;
  setup.ops = {{"rows", [](Record& record, const SampleContext& context) -> Status {
                  FOREBAY_RETURN_IF_ERROR(context.memory->reserve(5000));
                  Tensor row = Tensor::allocate(DType::kUint8, {5000});
                  std::memset(row.buffer.data(), static_cast<int>(context.key.id), row.nbytes());
                  record[0] = Value::of(std::move(row));
                  return {};
                }}};
  setup.made = {{DType::kUint8, Shape{Shape::kUnknown}}};
  setup.options = {
      .threads = 4, .requests = 4, .window_batches = 8, .memory = {.share = {.wanted = 80'000}, .per_thread = 6000}};
  const auto runner = setup.run();
  const Outcome outcome = drain(*runner);
  EXPECT_EQ(outcome.raised, std::vector<std::string>());
  EXPECT_EQ(outcome.ids.size(), 64u);
  EXPECT_LE(runner->stats().memory.peak, 80'000u);
}

/// Refuses blocks of more than `most` bytes.
class SmallBlocks final : public BlockSource {
 public:
  uint8_t* allocate(size_t bytes) override { return bytes > most ? nullptr : own_->allocate(bytes); }
  void free(uint8_t* block, size_t bytes) override { own_->free(block, bytes); }
  std::atomic<size_t> most = 0;

 private:
  const std::shared_ptr<BlockSource> own_ = BlockSource::own_memory();
};

// The system may lack memory for slots of known size, or for the assembly of a batch.
TEST(RunnerMemory, a_system_without_memory_is_an_error_and_the_batch_can_be_asked_for_again) {
  for (const bool sized : {true, false}) {
    Rig setup = sized ? Rig() : padded(1 << 20);
    const auto blocks = std::make_shared<SmallBlocks>();
    blocks->most = sized ? 0 : 1000;  // enough for the labels only
    setup.options.batch_memory = blocks;
    const auto runner = setup.run();
    for (int i = 0; i < 2; ++i) {
      const Status status = runner->next_for(20s).status();
      EXPECT_EQ(status.code(), Code::kOutOfBudget) << status.to_string();
      EXPECT_NE(status.message().find("the system has no memory left"), std::string::npos) << status.to_string();
    }
    EXPECT_EQ(runner->cursor(), Cursor());
    blocks->most = SIZE_MAX;
    const Outcome outcome = drain(*runner);
    EXPECT_EQ(outcome.raised, std::vector<std::string>());
    EXPECT_EQ(outcome.ids.size(), setup.sizes.size());
    runner->close();
  }
}

}  // namespace
}  // namespace forebay
