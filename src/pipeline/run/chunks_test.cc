#include <gtest/gtest.h>

#include "pipeline/run/parts_test_support.h"
#include "pipeline/run/runner_chunks_test_support.h"

// Tests how chunks are read and decoded, without batches.

namespace forebay {
namespace {

using runner_test::ChunkRig;
using runner_test::HeldStore;
using runner_test::MadeChunks;
using runner_test::StillRun;

// Each chunk has two reads, of 400 and 600 bytes.
struct Bench : StillRun {
  explicit Bench(ChunkRig rig, std::shared_ptr<SharedChunks> shared = SharedChunks::make())
      : StillRun(plan_of(rig), in_order(rig), rig.options),
        chunks(core, 0, std::move(shared), [this](const Chunk&) { return due; }), store(*rig_store(rig)) {}

  static std::shared_ptr<BranchPlan> plan_of(ChunkRig& rig) {
    if (!rig.store) rig.store = std::make_shared<HeldStore>(MadeChunks::store_of(rig.rows.size()));
    return rig.plan();
  }
  // Each block is one chunk.
  static std::shared_ptr<StepSource> in_order(const ChunkRig& rig) {
    const std::shared_ptr<const Order> order = sequential_chunks_order(rig.rows);
    const EqualBatches schedule({.epoch_size = order->size(), .batch_size = rig.batch, .world_size = 1});
    return std::make_shared<IndexedItinerary>(order, runner_test::all_of(order->size()), schedule, 0, rig.epochs);
  }
  static HeldStore* rig_store(ChunkRig& rig) { return static_cast<HeldStore*>(rig.store.get()); }

  // The n-th block of the order, with a user.
  ChunkBlockPtr block(int n) {
    ChunkBlockPtr block = chunks.table().block_at(0, 0);
    while (n-- > 0) block = chunks.table().block_after(*block);
    chunks.table().add_user(block);
    return block;
  }
  Chunk& chunk(const ChunkBlockPtr& block) { return *block->chunks.front(); }
  // Moves the block on until it waits for something that the test controls.
  bool advance_block(const ChunkBlockPtr& block, const Chunks::BlockRequest& request = {}) {
    const bool moved = chunks.advance(*block, request, actions);
    send(actions);
    return moved;
  }
  void answer_all() {
    while (store.held() > 0) store.answer();
  }
  uint64_t held(Use use) const { return core.memory.snapshot().of(use); }

  bool due = true;
  Chunks chunks;
  HeldStore& store;
  Actions actions;
};

TEST(Chunks, a_block_is_read_decoded_and_kept_until_its_last_user_leaves) {
  Bench bench({});
  const ChunkBlockPtr block = bench.block(0);
  EXPECT_TRUE(bench.advance_block(block));
  EXPECT_EQ(bench.store.held(), 2u) << "both reads at once";
  EXPECT_EQ(bench.held(Use::kFetched), 1000u);
  bench.answer_all();
  EXPECT_FALSE(block->ready());
  EXPECT_TRUE(bench.advance_block(block));
  ASSERT_EQ(bench.actions.posts.size(), 1u);
  bench.carry_out(bench.actions);
  EXPECT_TRUE(block->ready());
  EXPECT_EQ(bench.held(Use::kFetched), 0u) << "stored bytes are of no use any more";
  EXPECT_GT(bench.held(Use::kChunks), 0u);
  EXPECT_EQ(bench.chunks.decodes()[static_cast<size_t>(bench.chunk(block).number)], 1u);
  bench.chunks.close_before({0, block->last_position() + 1, 0});
  EXPECT_TRUE(block->ready()) << "somebody uses it";
  bench.chunks.remove_user(block);
  EXPECT_EQ(bench.held(Use::kChunks), 0u);
}

TEST(Chunks, a_chunk_whose_reads_find_no_slot_goes_on_when_one_is_free) {
  ChunkRig rig;
  rig.options.requests = 1;
  Bench bench(rig);
  const ChunkBlockPtr block = bench.block(0);
  EXPECT_TRUE(bench.advance_block(block));
  EXPECT_EQ(bench.store.held(), 1u);
  bench.store.answer();
  EXPECT_TRUE(bench.advance_block(block));
  EXPECT_EQ(bench.store.held(), 1u);
  bench.store.answer();
  bench.advance_block(block);
  EXPECT_EQ(bench.actions.posts.size(), 1u) << "all bytes are there: it is decoded";
}

// Releases a claim when it is asked for memory.
struct Giving final : MemoryReclaimer {
  explicit Giving(Claim held) : claim(std::move(held)) {}
  bool reclaim(uint64_t bytes) override {
    asked.push_back(bytes);
    const bool had = claim.bytes() > 0;
    claim.give_back();
    return had;
  }
  Claim claim;
  std::vector<uint64_t> asked;
};

TEST(Chunks, others_give_way_only_to_who_may_ask_them) {
  ChunkRig rig;
  rig.options.memory.share.wanted = 10'000;
  Bench bench(rig);
  Giving others(bench.core.memory.take(Use::kBatches, 9'500).value());
  const ChunkBlockPtr block = bench.block(0);
  EXPECT_FALSE(bench.advance_block(block)) << "nobody gives way";
  EXPECT_EQ(bench.store.held(), 0u);
  EXPECT_TRUE(bench.advance_block(block, {.others = &others}));
  EXPECT_EQ(others.asked, std::vector<uint64_t>{1000});
  EXPECT_EQ(bench.store.held(), 2u);
}

TEST(Chunks, what_is_fetched_for_later_leaves_the_window_its_room) {
  ChunkRig rig;
  rig.options.memory.share.wanted = 10'000;
  rig.options.memory.window = 8'500;
  rig.options.memory.ahead = 5'000;
  Bench bench(rig);
  const ChunkBlockPtr block = bench.block(0);
  const Claim batches = bench.core.memory.take(Use::kBatches, 2'000).value();  // for the window
  Claim others = bench.core.memory.take(Use::kChunks, 1'000).value();
  EXPECT_FALSE(bench.advance_block(block, {.ahead = true}));
  EXPECT_EQ(bench.store.held(), 0u);
  others.give_back();
  EXPECT_TRUE(bench.advance_block(block, {.ahead = true}));
  EXPECT_EQ(bench.store.held(), 2u);
}

TEST(Chunks, for_later_one_chunk_is_fetched_even_where_it_is_larger_than_what_is_set_aside) {
  ChunkRig rig;
  rig.options.memory.ahead = 10;
  Bench bench(rig);
  const ChunkBlockPtr first = bench.block(0), second = bench.block(1);
  EXPECT_TRUE(bench.advance_block(first, {.ahead = true}));
  EXPECT_EQ(bench.store.held(), 2u);
  EXPECT_TRUE(bench.advance_block(second, {.ahead = true}));
  EXPECT_EQ(bench.store.held(), 2u);
}

TEST(Chunks, one_that_is_given_up_keeps_the_bytes_of_its_reads_until_they_have_landed) {
  Bench bench({});
  const ChunkBlockPtr block = bench.block(0);
  bench.advance_block(block);
  bench.chunks.remove_user(block);
  bench.chunks.clear();
  EXPECT_EQ(bench.held(Use::kFetched), 1000u);
  bench.store.answer();
  EXPECT_EQ(bench.held(Use::kFetched), 600u) << "each read returns its own";
  bench.store.answer();
  EXPECT_EQ(bench.held(Use::kFetched), 0u);
  EXPECT_TRUE(bench.chunk(block).is<Chunk::Waiting>());
}

TEST(Chunks, one_that_is_given_up_while_a_thread_decodes_it_goes_when_the_thread_is_done) {
  Bench bench({});
  const ChunkBlockPtr block = bench.block(0);
  bench.advance_block(block);
  bench.answer_all();
  bench.advance_block(block);
  bench.chunks.remove_user(block);
  bench.chunks.clear();
  EXPECT_TRUE(bench.chunk(block).is<Chunk::Running>());
  bench.carry_out(bench.actions);
  EXPECT_TRUE(bench.chunk(block).is<Chunk::Waiting>());
  bench.core.memory.trim();
  EXPECT_EQ(bench.core.memory.used(), 0u);
  EXPECT_EQ(bench.chunks.decodes(), std::vector<uint32_t>(10, 0)) << "what nobody wants is not decoded";
}

TEST(Chunks, one_that_is_given_up_before_it_is_read_says_nothing_of_the_page_cache) {
  ChunkRig rig;
  const auto store = std::make_shared<HeldStore>(MadeChunks::store_of(rig.rows.size()));
  store->expects_hits = true;
  rig.store = store;
  Bench bench(rig);
  const ChunkBlockPtr block = bench.block(0);
  bench.advance_block(block);
  ASSERT_TRUE(bench.chunk(block).is<Chunk::Running>());
  StoreSlots& slots = bench.core.fetcher.slots_of(bench.store);
  slots.record_try(/*hit=*/false);  // by another task in the meantime
  bench.chunks.remove_user(block);
  bench.chunks.clear();
  bench.carry_out(bench.actions);
  EXPECT_TRUE(bench.chunk(block).is<Chunk::Waiting>());
  EXPECT_FALSE(slots.expects_page_cache_hit());
}

TEST(Chunks, storage_that_is_away_is_an_error_only_for_rows_that_are_due) {
  for (const bool due : {false, true}) {
    Bench bench({});
    bench.due = due;
    const ChunkBlockPtr block = bench.block(0);
    bench.advance_block(block);
    bench.store.answer(unavailable("the server is away"));
    bench.answer_all();
    EXPECT_EQ(bench.chunk(block).is<Chunk::Failed>(), due);
    EXPECT_EQ(bench.chunk(block).is<Chunk::Waiting>(), !due);
    EXPECT_EQ(bench.chunk(block).status().code(), due ? Code::kUnavailable : Code::kOk);
    EXPECT_EQ(bench.held(Use::kFetched), 0u);
  }
}

TEST(Chunks, storage_that_was_away_ahead_of_need_is_tried_again_if_the_chunk_is_due_when_that_is_known) {
  for (const bool due_by_then : {false, true}) {
    ChunkRig rig;
    const auto store = std::make_shared<HeldStore>(MadeChunks::store_of(rig.rows.size()));
    store->expects_hits = true;
    rig.store = store;
    Bench bench(rig);
    bench.due = false;
    store->on_read_now = [&bench, due_by_then]() -> std::optional<Result<Buffer>> {
      bench.due = due_by_then;  // the batches before it are delivered while a thread reads
      return unavailable("the server is away");
    };
    const ChunkBlockPtr block = bench.block(0);
    bench.advance_block(block);
    ASSERT_TRUE(bench.chunk(block).is<Chunk::Running>());
    bench.carry_out(bench.actions);
    EXPECT_EQ(bench.chunk(block).is<Chunk::Waiting>(), due_by_then);
    EXPECT_EQ(bench.chunk(block).is<Chunk::Failed>(), !due_by_then) << "it is forgotten when the chunk is due";
  }
}

TEST(Chunks, what_storage_had_not_is_read_again_when_that_is_said) {
  for (const Code code : {Code::kUnavailable, Code::kNotFound}) {
    Bench bench({});
    const ChunkBlockPtr block = bench.block(0);
    bench.advance_block(block);
    bench.store.answer(Status(code, "not now"));
    bench.answer_all();
    ASSERT_TRUE(bench.chunk(block).is<Chunk::Failed>());
    const bool away = code == Code::kUnavailable;
    bench.chunk(block).pins = 2;
    bench.chunk(block).readers = 1;
    EXPECT_EQ(bench.chunks.forget_transient_errors({block}), !away) << "a compute thread looks into it";
    EXPECT_TRUE(bench.chunk(block).is<Chunk::Failed>());
    bench.chunk(block).readers = 0;
    EXPECT_TRUE(bench.chunks.forget_transient_errors({block}));
    EXPECT_EQ(bench.chunk(block).is<Chunk::Waiting>(), away);
    EXPECT_EQ(bench.chunk(block).is<Chunk::Failed>(), !away);
    bench.chunk(block).pins = 0;
  }
}

TEST(Chunks, an_object_that_is_gone_is_an_error_whether_due_or_not) {
  Bench bench({});
  bench.due = false;
  const ChunkBlockPtr block = bench.block(0);
  bench.advance_block(block);
  bench.store.answer(Status(Code::kNotFound, "no such object"));
  bench.answer_all();
  EXPECT_TRUE(block->ready());
  EXPECT_EQ(bench.chunk(block).status().code(), Code::kNotFound);
}

TEST(Chunks, what_decoding_asks_for_is_granted_the_next_time) {
  ChunkRig rig;
  rig.working_bytes = 3'000;
  Bench bench(rig);
  const ChunkBlockPtr block = bench.block(0);
  uint64_t before = UINT64_MAX;
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(block->ready());
    bench.advance_block(block);
    bench.answer_all();
    bench.advance_block(block);
    const uint64_t granted = std::get<Chunk::Running>(bench.chunk(block).state).working.bytes();
    EXPECT_EQ(granted > before, round == 1) << granted;
    EXPECT_GE(granted, round == 0 ? 0u : 3'000u);
    before = granted;
    bench.carry_out(bench.actions);
  }
  EXPECT_TRUE(block->ready());
  EXPECT_TRUE(bench.chunk(block).status().ok());
  EXPECT_EQ(bench.held(Use::kWorking), 0u);
}

TEST(Chunks, only_what_nobody_looks_into_is_dropped_for_others) {
  Bench bench({});
  std::vector<ChunkBlockPtr> blocks;
  for (int n = 0; n < 3; ++n) {
    blocks.push_back(bench.block(n));
    bench.advance_block(blocks.back());
    bench.answer_all();
    bench.advance_block(blocks.back());
    bench.carry_out(bench.actions);
  }
  ++bench.chunk(blocks[1]).pins;
  bench.chunks.drop_others(blocks[0].get());
  EXPECT_TRUE(blocks[0]->ready()) << "it is needed";
  EXPECT_TRUE(blocks[1]->ready()) << "somebody looks into it";
  EXPECT_FALSE(blocks[2]->ready());
  --bench.chunk(blocks[1]).pins;
}

TEST(Chunks, what_another_run_is_at_work_on_is_waited_for_and_taken) {
  ChunkRig rig;
  rig.identity = 7;
  const std::shared_ptr<SharedChunks> shared = SharedChunks::make();
  Bench first(rig, shared), second(rig, shared);
  second.core.queue = second.engine->executor->open(1);  // runs the work after a notification
  const ChunkBlockPtr ours = first.block(0), theirs = second.block(0);
  first.advance_block(ours);
  second.advance_block(theirs);
  EXPECT_EQ(second.store.held(), 0u) << "the same is being read already";
  first.answer_all();
  first.advance_block(ours);
  first.carry_out(first.actions);
  EXPECT_TRUE(ours->ready());
  second.core.queue.reset();  // waits until the notification was processed
  second.advance_block(theirs);
  EXPECT_TRUE(theirs->ready());
  EXPECT_EQ(second.chunk(theirs).rows(), first.chunk(ours).rows()) << "the same memory";
  EXPECT_EQ(second.chunks.decodes(), std::vector<uint32_t>(10, 0));
  EXPECT_EQ(second.held(Use::kChunks) > 0, true) << "each pays for what it holds";
}

}  // namespace
}  // namespace forebay
