// Runs random plans with little memory: the error never asks for more than MemoryModel::most(), and
// that much is enough.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "pipeline/memory_model.h"
#include "pipeline/run/runner_chunks_test_support.h"

namespace forebay::runner_test {
namespace {

using Random = std::mt19937_64;

int64_t from_1_to(Random& random, int64_t most) {
  return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(most));
}

// Gives a run `memory` bytes, as choose_sizes() does.
MemoryPlan plan_of(const MemoryModel& model, const MemoryNeeds& most, uint64_t memory) {
  const uint64_t first = most.batch.value() + std::max<uint64_t>(most.largest_stored, 1);
  return {.share = {.wanted = memory}, .per_thread = model.thread_bytes(memory - std::min(memory, first))};
}

// Calls `run` with parts of the memory that is enough. It returns OutOfBudget or OK.
template <class Run>
void check_promise(const BranchPlan& plan, const RunShape& shape, const Run& run) {
  const MemoryModel model(plan, shape);
  const MemoryNeeds most = model.most();
  const uint64_t enough = most.sum().value();
  for (const uint64_t memory : {enough / 20, enough / 4, enough - 1}) {
    const Status status = run(plan_of(model, most, memory));
    if (status.ok()) continue;
    ASSERT_EQ(status.code(), Code::kOutOfBudget) << status.to_string();
    EXPECT_LE(status.bytes_needed(), enough) << "with " << memory << ": " << status.to_string();
  }
  const Status status = run(plan_of(model, most, enough));
  EXPECT_TRUE(status.ok()) << "with " << enough << ": " << status.to_string();
}

// Replaces the stored bytes by a list of as many numbers.
Status to_list(Record& record, const SampleContext& context) {
  FOREBAY_RETURN_IF_ERROR(context.memory->reserve(1000));
  Tensor row = Tensor::allocate(DType::kUint8, {static_cast<int64_t>(record[0].bytes.size())});
  std::memcpy(row.buffer.data(), record[0].bytes.data(), row.nbytes());
  record[0] = Value::of(std::move(row));
  return {};
}

Rig random_rig(Random& random) {
  Rig rig;
  rig.sizes.resize(static_cast<size_t>(from_1_to(random, 60)));
  for (uint64_t& size : rig.sizes) size = random() % (random() % 8 == 0 ? 50'000 : 500);
  rig.batch = from_1_to(random, 40);
  rig.options.threads = static_cast<int>(from_1_to(random, 3));
  rig.options.requests = static_cast<int>(from_1_to(random, 8));
  rig.options.window_batches = from_1_to(random, 4);
  const uint64_t kind = random() % 4;
  if (kind == 0) rig.ops.clear(), rig.made.reset();
  if (kind == 1) rig.ops = {{"summary", summary({}, /*working_bytes=*/10'000)}};
  if (kind >= 2) {
    rig.ops = {{"list", to_list}};
    rig.made = {{DType::kUint8, Shape{Shape::kUnknown}}};
  }
  const bool pads = kind == 3;
  const int64_t length = random() % 2 == 0 ? 0 : 50'000;
  rig.change_plan = [pads, length](BranchPlan& plan) {
    plan.working_bytes = plan.stages.empty() ? 0 : 10'000;
    if (!pads) return;
    plan.outputs[0].field.pad_value = 9;
    plan.outputs[0].field.pad_length = length;
    plan.output_schema[0] = plan.outputs[0].field;
  };
  return rig;
}

TEST(MemoryPromise, of_samples_is_kept) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Rig rig = random_rig(random);
    const std::string expected = drain(*rig.run()).digest;
    const RunShape shape{.rows = rig.batch, .threads = rig.options.threads};
    check_promise(*rig.plan(), shape, [&](MemoryPlan memory) {
      rig.options.memory = std::move(memory);
      const Outcome outcome = drain(*rig.run());
      EXPECT_TRUE(!outcome.status.ok() || outcome.digest == expected);
      return outcome.status;
    });
    if (testing::Test::HasFailure()) return;
  }
}

TEST(MemoryPromise, of_chunks_is_kept) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ChunkRig rig;
    rig.rows.resize(static_cast<size_t>(from_1_to(random, 12)));
    for (int64_t& rows : rig.rows) rows = from_1_to(random, random() % 4 == 0 ? 80 : 8);
    rig.block = from_1_to(random, 4);
    rig.lanes = from_1_to(random, std::min<int64_t>(3, static_cast<int64_t>(rig.rows.size())));
    rig.batch = from_1_to(random, 80);
    rig.single_rows = random() % 2 == 0;
    rig.tags = random() % 2 == 0;
    rig.options.threads = static_cast<int>(from_1_to(random, 3));
    const std::vector<std::string> lines = expected(rig);
    const RunShape shape{.rows = rig.batch, .block = rig.block, .lanes = rig.lanes, .threads = rig.options.threads};
    check_promise(*rig.plan(), shape, [&](MemoryPlan memory) {
      rig.options.memory = std::move(memory);
      const Ran ran = run_all(rig.make());
      EXPECT_TRUE(!ran.status.ok() || ran.lines == lines);
      return ran.status;
    });
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace forebay::runner_test
