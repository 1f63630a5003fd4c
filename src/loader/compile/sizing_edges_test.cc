// Checks sizing for extreme plans: a batch fits, nothing is divided by 0, and the amount that a
// refusal advises is enough.
#include <gtest/gtest.h>

#include "loader/compile/sizing.h"
#include "pipeline/selection.h"
#include "runtime/host.h"

namespace forebay {
namespace {

constexpr uint64_t kRows = 64;

/// Row groups in memory, of which only the sizes are used.
class SizedChunks final : public ChunkSource {
 public:
  SizedChunks(int64_t chunks, uint64_t decoded, uint64_t stored) : chunks_(chunks), cost_{stored, decoded} {}
  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return chunks_ * static_cast<int64_t>(kRows); }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t) const override { return ""; }
  int64_t chunks() const override { return chunks_; }
  int64_t chunk_begin(int64_t chunk) const override { return chunk * static_cast<int64_t>(kRows); }
  std::string chunk_name(int64_t) const override { return ""; }
  ChunkCost chunk_cost(int64_t) const override { return cost_; }
  ChunkFetch chunk_fetch(int64_t) const override { return {}; }
  Result<Columns> decode(int64_t, std::vector<Buffer>, WorkMemory&) const override { return internal_error("never"); }
  std::optional<Hash128> chunk_identity(int64_t) const override { return std::nullopt; }
  Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string>) const override {
    return internal_error("never");
  }

 private:
  const int64_t chunks_;
  const ChunkCost cost_;
  const Schema schema_;
};

BranchPlan rows_of(size_t row_bytes) {
  BranchPlan plan;
  plan.source = std::make_shared<SizedChunks>(1, 0, 0);
  plan.selection = first_samples(1000);
  plan.outputs.emplace_back().row_bytes = row_bytes;
  return plan;
}

BranchPlan chunks_of(int64_t chunks, uint64_t decoded, uint64_t stored, size_t row_bytes = 8) {
  BranchPlan plan = rows_of(row_bytes);
  auto chunk_plan = std::make_shared<ChunkPlan>();
  chunk_plan->source = std::make_shared<SizedChunks>(chunks, decoded, stored);
  plan.source = chunk_plan->source;
  plan.selection = first_samples(plan.source->size());
  plan.chunks = chunk_plan;
  return plan;
}

Result<RunnerOptions> edge_sizes(const BranchPlan& plan, const SizingInput& input) {
  return choose_sizes(ExecutionPlan(std::shared_ptr<const BranchPlan>(std::shared_ptr<void>(), &plan)), input);
}

TEST(SizingEdges, OfSingleSamplesHoldTheirPromisesForAnyShape) {
  for (const size_t row : {size_t{0}, size_t{1}, size_t{4096}, size_t{64} << 20}) {
    for (const int64_t batch : {1, 7, 4096}) {
      for (const int threads : {1, 2, 64, 1024}) {
        SCOPED_TRACE(std::to_string(row) + " " + std::to_string(batch) + " " + std::to_string(threads));
        const BranchPlan plan = rows_of(row);
        const auto options = edge_sizes(plan, {.threads = threads, .run = {.rows = batch}});
        ASSERT_TRUE(options.ok()) << options.status().to_string();
        EXPECT_EQ(options->threads, threads);
        EXPECT_GE(options->window_batches, 3);
        EXPECT_LE(options->window_batches, 256);
        EXPECT_GE(options->memory.share.wanted, plan.batch_bytes(batch)) << "one batch fits";
        EXPECT_GE(options->memory.share.wanted, options->memory.share.least);
        EXPECT_LE(options->memory.ahead, options->memory.share.wanted);
        EXPECT_LE(plan.batch_bytes(batch) + options->memory.per_thread * static_cast<uint64_t>(threads),
                  options->memory.share.wanted)
            << "what threads keep leaves room for a batch";
      }
    }
  }
}

TEST(SizingEdges, TheLeastMemoryIsEnoughAndAByteLessIsNot) {
  for (const size_t row : {size_t{1}, size_t{100}, size_t{1} << 20}) {
    for (const int64_t batch : {1, 33, 1000}) {
      const BranchPlan plan = rows_of(row);
      const uint64_t least = plan.batch_bytes(batch) + 1;
      EXPECT_TRUE(edge_sizes(plan, {.memory = least, .run = {.rows = batch}}).ok());
      const Status refused = edge_sizes(plan, {.memory = least - 1, .run = {.rows = batch}}).status();
      ASSERT_EQ(refused.code(), Code::kOutOfBudget) << refused.to_string();
      EXPECT_NE(refused.message().find("memory=" + std::to_string(least - 1)), std::string::npos);
      EXPECT_NE(refused.message().find(std::to_string(refused.bytes_needed())), std::string::npos)
          << "the figure is in the words, too";
      EXPECT_TRUE(edge_sizes(plan, {.memory = refused.bytes_needed(), .run = {.rows = batch}}).ok());
    }
  }
}

TEST(SizingEdges, ABatchWhoseSizeOverflowsIsRefused) {
  for (const int64_t batch : {int64_t{1} << 24, int64_t{1} << 30, int64_t{INT32_MAX}}) {
    const Status refused = edge_sizes(rows_of(size_t{3} << 40), {.run = {.rows = batch}}).status();
    EXPECT_EQ(refused.code(), Code::kOutOfBudget) << batch;
    EXPECT_NE(refused.message().find("make the batch"), std::string::npos) << refused.message();
  }
  BranchPlan several = rows_of(size_t{1} << 33);
  several.outputs.resize(4, several.outputs.front());
  EXPECT_EQ(edge_sizes(several, {.run = {.rows = int64_t{1} << 29}}).status().code(), Code::kOutOfBudget);
}

TEST(SizingEdges, TheLimitsOfThreadsAndRequestsAreTakenAndThoseBeyondAreNot) {
  const BranchPlan plan = rows_of(8);
  EXPECT_TRUE(edge_sizes(plan, {.threads = 1}).ok());
  EXPECT_TRUE(edge_sizes(plan, {.threads = 1024}).ok());
  EXPECT_EQ(edge_sizes(plan, {.threads = 1025}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(edge_sizes(plan, {.requests = 65'536})->requests, 65'536);
  EXPECT_EQ(edge_sizes(plan, {.requests = 65'537}).status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(edge_sizes(plan, {.requests = 1})->find_requests) << "a number that was given is not looked for";
  EXPECT_TRUE(edge_sizes(plan, {})->find_requests);
}

TEST(SizingEdges, GivenThreadsAreOnesOwnAndOthersAreShared) {
  EXPECT_TRUE(edge_sizes(rows_of(8), {.threads = 2})->own_threads);
  EXPECT_FALSE(edge_sizes(rows_of(8), {})->own_threads);
}

TEST(SizingEdges, AnEmptySelectionNeedsNoMemoryForSamples) {
  BranchPlan plan = rows_of(8);
  plan.selection = first_samples(0);
  EXPECT_TRUE(edge_sizes(plan, {.run = {.rows = 4}}).ok());
}

// Sources with chunks of many rows

TEST(SizingEdges, OfChunksHoldThoseThatAreMixedOneOnItsWayAndABatch) {
  constexpr uint64_t kChunk = 1 << 20;
  for (const int64_t block : {1, 4, 16}) {
    for (const int64_t lanes : {1, 3}) {
      const auto options = edge_sizes(chunks_of(200, kChunk, kChunk / 2),
                                      {.threads = 1, .run = {.rows = 32, .block = block, .lanes = lanes}});
      ASSERT_TRUE(options.ok());
      EXPECT_GE(options->memory.share.least, static_cast<uint64_t>(lanes * (block + 1)) * kChunk + kChunk + kChunk / 2);
      EXPECT_GE(options->memory.share.wanted, options->memory.share.least);
      EXPECT_LE(options->memory.ahead, options->memory.share.wanted);
      EXPECT_GE(options->window_batches, 3);
      EXPECT_LE(options->window_batches, 16);
    }
  }
}

TEST(SizingEdges, FewChunksNeedNoMoreThanTheyAre) {
  constexpr uint64_t kChunk = 1 << 20;
  const auto few = edge_sizes(chunks_of(2, kChunk, kChunk), {.threads = 1, .run = {.block = 1000}});
  ASSERT_TRUE(few.ok());
  EXPECT_LT(few->memory.share.least, 5 * kChunk) << "two, one that is decoded, and its stored bytes";
}

TEST(SizingEdges, ATableWithoutRowGroupsCanBeOpened) {
  EXPECT_TRUE(edge_sizes(chunks_of(0, 0, 0), {.run = {.rows = 4}}).ok());
}

TEST(SizingEdges, TooLittleMemoryForABlockSaysWhichBlockWouldFit) {
  constexpr uint64_t kChunk = 1 << 20;
  const BranchPlan plan = chunks_of(200, kChunk, kChunk);
  const auto refused = [&](uint64_t memory, int64_t block, int64_t lanes) {
    const Status status =
        edge_sizes(plan, {.threads = 1, .memory = memory, .run = {.rows = 8, .block = block, .lanes = lanes}}).status();
    EXPECT_EQ(status.code(), Code::kOutOfBudget);
    EXPECT_TRUE(
        edge_sizes(plan,
                   {.threads = 1, .memory = status.bytes_needed(), .run = {.rows = 8, .block = block, .lanes = lanes}})
            .ok())
        << "the figure is enough";
    return status.message();
  };
  const std::string smaller_block = refused(10 * kChunk, 16, 1);
  EXPECT_NE(smaller_block.find("or shuffle with block="), std::string::npos) << smaller_block;
  const std::string fewer_lanes = refused(10 * kChunk, 2, 8);
  EXPECT_NE(fewer_lanes.find("block=1 and lanes="), std::string::npos) << fewer_lanes;
  const std::string nothing_fits = refused(kChunk, 4, 2);
  EXPECT_NE(nothing_fits.find("write the table with smaller row groups"), std::string::npos) << nothing_fits;
}

TEST(SizingEdges, TheBlockThatWasAdvisedFits) {
  constexpr uint64_t kChunk = 1 << 20;
  const BranchPlan plan = chunks_of(200, kChunk, kChunk);
  for (uint64_t memory = 5 * kChunk; memory < 20 * kChunk; memory += kChunk / 3) {
    SizingInput input{.threads = 1, .memory = memory, .run = {.rows = 8, .block = 64}};
    const Status refused = edge_sizes(plan, input).status();
    ASSERT_EQ(refused.code(), Code::kOutOfBudget);
    const size_t at = refused.message().find("shuffle with block=");
    ASSERT_NE(at, std::string::npos) << refused.message();
    input.run.block = std::stoll(refused.message().substr(at + 19));
    EXPECT_TRUE(edge_sizes(plan, input).ok()) << memory << " " << input.run.block;
    ++input.run.block;
    EXPECT_FALSE(edge_sizes(plan, input).ok()) << "more would have fitted: " << memory << " " << input.run.block;
  }
}

}  // namespace
}  // namespace forebay
