#include <gtest/gtest.h>

#include <atomic>

#include "pipeline/run/runner_chunks_test_support.h"

namespace forebay::runner_test {
namespace {

TEST(RunnerChunks, rows_come_in_the_order_of_the_plan_whatever_threads_blocks_and_lanes) {
  for (bool single_rows : {false, true}) {
    for (int threads : {1, 2, 8}) {
      for (int64_t block : {1, 3, 20}) {
        for (int64_t lanes : {1, 3}) {
          ChunkRig rig;
          rig.options.threads = threads;
          rig.block = block;
          rig.lanes = lanes;
          rig.single_rows = single_rows;
          const Ran ran = run_all(rig.make());
          EXPECT_TRUE(ran.status.ok()) << ran.status.to_string();
          EXPECT_EQ(ran.lines, expected(rig)) << threads << " threads, block " << block << ", lanes " << lanes;
        }
      }
    }
  }
}

TEST(RunnerChunks, lists_of_strings_come_with_both_offsets_whatever_threads_blocks_lanes_and_memory) {
  for (bool single_rows : {false, true}) {
    for (int64_t batch : {1, 16, 200}) {
      for (int64_t lanes : {1, 3}) {
        ChunkRig rig;
        rig.tags = true;
        rig.single_rows = single_rows;
        rig.batch = batch;
        rig.lanes = lanes;
        if (lanes > 1) rig.options.memory.share.wanted = 100'000;
        const Ran ran = run_all(rig.make());
        EXPECT_TRUE(ran.status.ok()) << ran.status.to_string();
        EXPECT_EQ(ran.lines, expected(rig)) << "batch " << batch << ", lanes " << lanes;
        EXPECT_LE(ran.peak, rig.options.memory.share.wanted);
      }
    }
  }
}

TEST(RunnerChunks, bad_rows_leave_no_gap_in_lists_of_strings) {
  ChunkRig rig;
  rig.tags = true;
  rig.bad_rows = {4, 5, 6, 7, 60};
  rig.options.bad_sample = BadSample::kSkip;
  std::vector<std::string> lines;
  for (const std::string& line : expected(rig)) {
    bool bad = false;
    for (const int64_t row : rig.bad_rows) bad |= line.find(":" + std::to_string(row) + "|") != std::string::npos;
    if (!bad) lines.push_back(line);
  }
  EXPECT_EQ(run_all(rig.make()).lines, lines);
}

TEST(RunnerChunks, each_chunk_is_decoded_once_an_epoch) {
  ChunkRig rig;
  rig.batch = 5;
  rig.epochs = 1;
  for (uint32_t decodes : run_all(rig.make()).decodes) EXPECT_EQ(decodes, 1u);
  // A chunk at the end of one epoch and the start of the next may be decoded once for both.
  rig.epochs = 2;
  for (uint32_t decodes : run_all(rig.make()).decodes) EXPECT_LE(decodes, 2u);
}

TEST(RunnerChunks, a_small_budget_makes_it_slower_and_changes_nothing) {
  for (bool single_rows : {false, true}) {
    ChunkRig rig;
    rig.single_rows = single_rows;
    rig.rows = std::vector<int64_t>(20, 100);
    rig.options.memory.per_thread = 1024;
    rig.epochs = 4;
    // Three chunks, one more being decoded (twice, and its stored bytes), and a batch.
    rig.options.memory.share.wanted = 3 * 6464 + 2 * 6464 + 1000 + 2048 + 16 * 64;
    const Ran ran = run_all(rig.make());
    EXPECT_TRUE(ran.status.ok()) << ran.status.to_string();
    EXPECT_EQ(ran.lines, expected(rig));
    EXPECT_LE(ran.peak, rig.options.memory.share.wanted);
  }
}

TEST(RunnerChunks, lists_survive_a_small_budget_where_rows_of_a_block_do_not_stand_together) {
  for (uint64_t memory = 60'000; memory <= 90'000; memory += 1'500) {
    ChunkRig rig;
    rig.rows = std::vector<int64_t>(20, 100);
    rig.lanes = 2;
    rig.batch = 64;
    rig.options.memory.per_thread = 1024;
    rig.options.memory.share.wanted = memory;
    const Ran ran = run_all(rig.make());
    EXPECT_TRUE(ran.status.ok()) << ran.status.to_string();
    EXPECT_EQ(ran.lines, expected(rig)) << memory;
  }
}

TEST(RunnerChunks, memory_that_decoding_asks_for_is_found) {
  ChunkRig rig;
  rig.working_bytes = 200'000;
  rig.options.memory.share.wanted = 320'000;
  const Ran ran = run_all(rig.make());
  EXPECT_TRUE(ran.status.ok()) << ran.status.to_string();
  EXPECT_EQ(ran.lines, expected(rig));
}

TEST(RunnerChunks, what_can_never_be_had_is_said_with_the_figure) {
  ChunkRig rig;
  rig.working_bytes = 1 << 30;
  const Ran ran = run_all(rig.make());
  EXPECT_EQ(ran.status.code(), Code::kOutOfBudget);
  EXPECT_GE(ran.status.bytes_needed(), uint64_t{1} << 30);
}

TEST(RunnerChunks, reads_that_take_time_change_nothing) {
  ChunkRig rig;
  rig.store = slow_store(MadeChunks::store_of(rig.rows.size()), {.seed = 3, .latency_ms = 3, .jitter_ms = 3});
  for (int64_t lanes : {1, 2}) {
    for (uint64_t ahead : {0, 2500, 1 << 20}) {
      rig.lanes = lanes;
      rig.options.memory.ahead = ahead;
      const Ran ran = run_all(rig.make());
      EXPECT_EQ(ran.lines, expected(rig));
      for (uint32_t decodes : ran.decodes) EXPECT_LE(decodes, lanes == 1 ? 2u : 4u) << "lanes cut chunks in two";
    }
  }
}

TEST(RunnerChunks, a_bad_chunk_spoils_its_own_rows_alone) {
  for (int variant = 0; variant < 4; ++variant) {
    ChunkRig rig;
    rig.single_rows = variant % 2 != 0;
    rig.lanes = variant < 2 ? 1 : 3;
    rig.bad_chunks = {3};
    rig.epochs = 1;
    rig.options.bad_sample = BadSample::kSkip;
    const Ran ran = run_all(rig.make());
    std::vector<std::string> good;
    for (const std::string& line : expected(rig)) {
      const int64_t id = std::stoll(line.substr(line.find(':', 2) + 1));
      if (id < 38 || id >= 50) good.push_back(line);
    }
    EXPECT_EQ(ran.lines, good);
    EXPECT_EQ(ran.errors.size(), 12u);
    for (const RowError& error : ran.errors) EXPECT_EQ(error.status.code(), Code::kCorrupt);
  }
}

TEST(RunnerChunks, a_replacement_comes_from_the_same_block_and_does_not_depend_on_threads) {
  for (int64_t lanes : {1, 3}) {
    ChunkRig rig;
    rig.lanes = lanes;
    rig.bad_rows = {0, 5, 60, 61, 62};
    rig.epochs = 1;
    rig.options.bad_sample = BadSample::kReplace;
    const Ran one = run_all(rig.make());
    rig.options.threads = 7;
    rig.single_rows = true;
    const Ran other = run_all(rig.make());
    EXPECT_EQ(one.lines, other.lines);
    EXPECT_EQ(one.lines.size(), expected(rig).size());
    for (const std::string& line : one.lines) {
      const int64_t id = std::stoll(line.substr(line.find(':', 2) + 1));
      EXPECT_FALSE(rig.bad_rows.contains(id));
    }
    for (uint32_t decodes : one.decodes) EXPECT_LE(decodes, lanes == 1 ? 1u : 2u);
  }
}

TEST(RunnerChunks, a_bad_row_is_raised_in_its_place_and_the_run_goes_on) {
  ChunkRig rig;
  rig.bad_rows = {17};
  rig.epochs = 1;
  const Ran ran = run_all(rig.make());
  EXPECT_EQ(ran.status.code(), Code::kCorrupt);
  EXPECT_NE(ran.status.to_string().find("row 17"), std::string::npos) << ran.status.to_string();
  EXPECT_EQ(ran.lines.size(), 170u - 16u);  // the batch with the error is not delivered
}

TEST(RunnerChunks, ranks_share_an_epoch_by_lanes) {
  for (int64_t world : {1, 2, 3, 5}) {
    std::vector<std::string> all;
    ChunkRig rig;
    rig.lanes = 6;
    rig.batch = 30 / world;
    rig.epochs = 1;
    rig.world = world;
    for (rig.rank = 0; rig.rank < world; ++rig.rank) {
      const Ran ran = run_all(rig.make());
      all.insert(all.end(), ran.lines.begin(), ran.lines.end());
    }
    std::vector<std::string> wanted = expected(rig);
    std::sort(all.begin(), all.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(all, wanted) << world;
  }
}

TEST(RunnerChunks, going_on_in_the_middle_gives_the_same_rows) {
  ChunkRig rig;
  const std::vector<std::string> whole = expected(rig);
  for (int64_t position : {0, 16, 64, 160}) {
    const auto runner = rig.make();
    ASSERT_TRUE(runner->next_for(std::chrono::seconds(30)).ok());
    runner->seek({0, position, position / 16});
    EXPECT_EQ(run_all(runner).lines, std::vector<std::string>(whole.begin() + position, whole.end())) << position;
  }
}

// With a sanitizer this finds memory that is freed while a thread assembles a batch.
TEST(RunnerChunks, going_elsewhere_again_and_again_while_batches_are_put_together) {
  ChunkRig rig;
  const std::vector<std::string> whole = expected(rig);
  const auto runner = rig.make();
  for (int64_t i = 0; i < 200; ++i) {
    const int64_t position = 16 * (i % 8);
    runner->seek({0, position, position / 16});
    ASSERT_TRUE(runner->next_for(std::chrono::seconds(60)).ok());
  }
  runner->seek({0, 64, 4});
  EXPECT_EQ(run_all(runner).lines, std::vector<std::string>(whole.begin() + 64, whole.end()));
}

TEST(RunnerChunks, closing_in_the_middle_leaves_nothing_behind) {
  for (int batches = 0; batches < 6; ++batches) {
    ChunkRig rig;
    rig.store = slow_store(MadeChunks::store_of(rig.rows.size()), {.seed = 3, .latency_ms = 5, .jitter_ms = 5});
    const auto runner = rig.make();
    for (int i = 0; i < batches; ++i) ASSERT_TRUE(runner->next_for(std::chrono::seconds(30)).ok());
    runner->close();
    const auto memory = runner->stats().memory;
    EXPECT_EQ(memory.of(Use::kChunks), 0u);
    EXPECT_EQ(memory.of(Use::kFetched), 0u);
  }
}

/// A cache that exceeds all memory after every row, and releases it when asked to.
class FillsMemory final : public ReclaimableMemory {
 public:
  uint64_t bytes() const override { return bytes_; }
  uint64_t reclaim(uint64_t) override { return bytes_.exchange(0); }
  void fill() { bytes_ = uint64_t{1} << 30; }

 private:
  std::atomic<uint64_t> bytes_ = 0;
};

TEST(RunnerChunks, a_cache_that_fills_memory_beyond_its_size_makes_no_row_again_and_again) {
  ChunkRig rig;
  rig.options.threads = 1;
  rig.options.memory.per_thread = 1000;
  const auto cache = std::make_shared<FillsMemory>();
  rig.options.memory.accounts = {{Use::kCaches, cache, ByteBudget::Kind::kEntries, UINT64_MAX}};
  const auto plan = rig.plan();
  auto chunks = std::make_shared<ChunkPlan>();
  chunks->source = plan->chunks->source;
  chunks->packed = PackedRows(chunks->source->schema());
  plan->chunks = chunks;
  NativeStage stage;
  stage.ops.push_back({"keeps", std::make_unique<Does>([cache](Record&, const SampleContext& context) -> Status {
                         FOREBAY_RETURN_IF_ERROR(context.memory->reserve(5000));
                         cache->fill();
                         return {};
                       }),
                       std::make_shared<StepCounters>()});
  plan->stages.emplace_back(std::move(stage));
  const Ran ran = run_all(std::make_shared<Runner>(rig.engine, plan, rig.itinerary(), rig.options));
  EXPECT_TRUE(ran.status.ok()) << ran.status.to_string();
  EXPECT_EQ(ran.lines, expected(rig));
}

}  // namespace
}  // namespace forebay::runner_test
