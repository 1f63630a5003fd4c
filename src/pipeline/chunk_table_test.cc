#include "pipeline/chunk_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace forebay {
namespace {

struct Table {
  std::vector<int64_t> rows, begins;
  std::shared_ptr<const Order> order;
  std::unique_ptr<ChunkTable> table;

  Table(std::vector<int64_t> chunk_rows, int64_t block, int64_t lanes = 1) : rows(std::move(chunk_rows)) {
    begins = {0};
    for (const int64_t count : rows) begins.push_back(begins.back() + count);
    auto made = blockwise_order({.chunk_rows = rows, .block = block, .lanes = lanes, .seed = 3, .ramp = false});
    EXPECT_TRUE(made.ok());
    order = std::move(*made);
    table = std::make_unique<ChunkTable>(0, order, begins);
  }
};

std::set<int64_t> numbers_of(const ChunkBlock& block) {
  std::set<int64_t> numbers;
  for (const auto& chunk : block.chunks) numbers.insert(chunk->number);
  return numbers;
}

TEST(ChunkTable, the_block_of_a_position_holds_the_chunk_of_its_row) {
  for (const int64_t lanes : {1, 3}) {
    const Table at({5, 1, 8, 3, 4, 7, 2, 6}, 3, lanes);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      for (int64_t position = 0; position < at.order->size(); ++position) {
        const ChunkBlockPtr block = at.table->block_at(epoch, position);
        const int64_t id = at.order->id_at(epoch, position);
        ASSERT_TRUE(block->has_row(id));
        const RowInBlock place = block->locate(id);
        const int64_t number = block->chunks[place.chunk]->number;
        EXPECT_EQ(at.begins[static_cast<size_t>(number)] + place.row, id);
        EXPECT_LT(place.row, at.rows[static_cast<size_t>(number)]);
        EXPECT_EQ(at.table->block_at(epoch, position), block) << "the same as long as it is open";
      }
    }
  }
}

TEST(ChunkTable, a_block_holds_no_row_of_other_chunks) {
  const Table at({5, 1, 8, 3, 4, 7, 2, 6}, 2);
  const ChunkBlockPtr block = at.table->block_at(0, 0);
  const std::set<int64_t> numbers = numbers_of(*block);
  for (int64_t id = 0; id < at.begins.back(); ++id) {
    const int64_t chunk = std::upper_bound(at.begins.begin(), at.begins.end(), id) - at.begins.begin() - 1;
    EXPECT_EQ(block->has_row(id), numbers.contains(chunk)) << id;
  }
  EXPECT_FALSE(ChunkBlock().has_row(0)) << "one without chunks holds nothing";
}

TEST(ChunkTable, blocks_of_a_lane_follow_each_other_through_the_epoch_and_into_the_next) {
  const Table at({4, 4, 4, 4, 4, 4}, 2, 2);
  for (int64_t lane = 0; lane < 2; ++lane) {
    ChunkBlockPtr block = at.table->block_at(0, lane);
    int64_t rows = 0;
    while (block->epoch == 0) {
      EXPECT_EQ(block->range.first % 2, lane);
      rows += block->range.count;
      block = at.table->block_after(*block);
    }
    EXPECT_EQ(rows, 12);
    EXPECT_EQ(block->epoch, 1);
    EXPECT_EQ(block->range.first, lane);
  }
}

TEST(ChunkTable, blocks_that_share_a_chunk_share_it_and_let_it_go_with_the_last) {
  const Table at({6, 6}, 1, 2);  // the lanes meet at the edge of a chunk, or within one
  ChunkTable::Freed freed;
  const ChunkBlockPtr first = at.table->block_at(0, 0), again = at.table->block_at(1, 0);
  const ChunkBlockPtr other = at.table->block_at(1, 1);
  int held_by_epoch_1 = 0;
  for (const auto& chunk : first->chunks)
    held_by_epoch_1 += again->has_chunk(*chunk) || other->has_chunk(*chunk) ? 1 : 0;
  EXPECT_EQ(held_by_epoch_1, static_cast<int>(first->chunks.size())) << "the same chunks in every epoch";
  at.table->close_before(1, 0);
  at.table->remove_unused(freed);
  EXPECT_TRUE(freed.empty()) << "the next epoch still wants them";
  at.table->clear(freed);
  EXPECT_EQ(freed.size(), 2u);
  EXPECT_TRUE(at.table->chunks().empty());
}

TEST(ChunkTable, a_block_in_use_keeps_its_chunks_after_it_was_closed_and_passed) {
  const Table at({3, 3, 3}, 1);
  ChunkTable::Freed freed;
  const ChunkBlockPtr block = at.table->block_at(0, 0);
  at.table->add_user(block);
  at.table->add_user(block);
  at.table->close_before(0, block->last_position() + 1);
  at.table->remove_unused(freed);
  EXPECT_TRUE(freed.empty());
  at.table->remove_user(block, freed);
  EXPECT_TRUE(freed.empty());
  at.table->remove_user(block, freed);
  ASSERT_EQ(freed.size(), 1u);
  EXPECT_EQ(freed[0], block->chunks[0]);
  EXPECT_TRUE(at.table->blocks().empty());
}

TEST(ChunkTable, a_user_may_come_back_to_a_block_that_was_let_go) {
  const Table at({3, 3, 3}, 1);
  ChunkTable::Freed freed;
  const ChunkBlockPtr block = at.table->block_at(0, 0);
  at.table->close_before(1, 0);
  at.table->remove_unused(freed);
  ASSERT_EQ(freed.size(), 1u);
  at.table->add_user(block);
  EXPECT_TRUE(block->retained);
  EXPECT_TRUE(at.table->chunks().contains(block->chunks[0]->number));
  at.table->remove_user(block, freed);
  EXPECT_TRUE(at.table->chunks().empty());
}

TEST(ChunkTable, widened_it_has_the_chunks_of_other_rows_beside_its_own_in_order) {
  const Table at({3, 3, 3, 3, 3}, 1);
  ChunkTable::Freed freed;
  const ChunkBlockPtr block = at.table->block_at(0, 0);
  const ChunkBlockPtr wider = at.table->widened(*block, {0, 1, 14});
  std::set<int64_t> expected = numbers_of(*block);
  expected.insert({0, 4});
  EXPECT_EQ(numbers_of(*wider), expected);
  EXPECT_TRUE(std::is_sorted(wider->begins.begin(), wider->begins.end()));
  for (const int64_t id : {0, 1, 2, 12, 14}) EXPECT_TRUE(wider->has_row(id)) << id;
  at.table->add_user(wider);
  at.table->remove_user(wider, freed);
  for (const auto& chunk : freed) EXPECT_FALSE(block->has_chunk(*chunk)) << "its own are the other block's, too";
}

// For any sequence of calls, a chunk is in the table exactly as long as a block that is open or
// used holds it, and is freed once.
TEST(ChunkTable, whatever_is_done_a_chunk_is_there_as_long_as_a_block_wants_it) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const Table at({5, 1, 8, 3, 4, 7, 2, 6, 9, 2}, 1 + seed % 4, 1 + seed % 3);
    std::vector<ChunkBlockPtr> used;
    std::set<ChunkBlockPtr> seen;
    int64_t closed = 0;
    const int64_t size = at.order->size();
    for (int step = 0; step < 300; ++step) {
      ChunkTable::Freed freed;
      switch (random() % 4) {
        case 0: {
          const int64_t place = closed + static_cast<int64_t>(random() % 20);
          seen.insert(at.table->block_at(place / size, place % size));
          break;
        }
        case 1:
          if (seen.empty()) break;
          used.push_back(*std::next(seen.begin(), static_cast<std::ptrdiff_t>(random() % seen.size())));
          at.table->add_user(used.back());
          break;
        case 2: {
          if (used.empty()) break;
          std::swap(used[random() % used.size()], used.back());
          at.table->remove_user(used.back(), freed);
          used.pop_back();
          break;
        }
        default:
          closed += static_cast<int64_t>(random() % 4);
          at.table->close_before(closed / size, closed % size);
          at.table->remove_unused(freed);
      }
      std::set<int64_t> wanted;
      for (const auto& block : seen) {
        if (!block->retained) continue;
        ASSERT_TRUE(block->open || block->users > 0 || at.table->blocks().contains({block->epoch, block->range.first}));
        wanted.merge(numbers_of(*block));
      }
      std::set<int64_t> there;
      for (const auto& [number, chunk] : at.table->chunks()) there.insert(number);
      ASSERT_EQ(there, wanted) << "seed " << seed << ", step " << step;
      for (const auto& block : used) ASSERT_TRUE(block->retained);
      std::set<Chunk*> once;
      for (const auto& chunk : freed) {
        ASSERT_EQ(chunk->holders, 0);
        ASSERT_TRUE(once.insert(chunk.get()).second);
      }
    }
    ChunkTable::Freed freed;
    for (const auto& block : used) at.table->remove_user(block, freed);
    at.table->clear(freed);
    EXPECT_TRUE(at.table->chunks().empty());
    EXPECT_TRUE(at.table->blocks().empty());
  }
}

TEST(ChunkTable, a_row_group_of_old_samples_is_there_only_while_it_is_used_and_only_once) {
  const Table at({5, 1, 8, 3}, 1);
  const ChunkBlockPtr mixed = at.table->block_at(0, 0);
  const std::shared_ptr<Chunk> there = mixed->chunks.front();
  const ChunkBlockPtr same = at.table->block_of_replayed(there->number);
  const int64_t other_id = there->number == 2 ? 0 : 6;
  const ChunkBlockPtr other = at.table->block_of_replayed(at.table->chunk_of(other_id));
  EXPECT_TRUE(other->has_row(other_id));
  EXPECT_EQ(at.table->chunks().size(), 1u) << "nobody uses them yet";
  ChunkTable::Freed freed;
  for (int round = 0; round < 2; ++round) {  // the second time after it was released
    at.table->add_user(same);
    at.table->add_user(other);
    EXPECT_EQ(same->chunks.front(), there);
    EXPECT_EQ(at.table->chunks().size(), 2u);
    at.table->remove_user(same, freed);
    EXPECT_TRUE(freed.empty()) << "its rows are being mixed";
    at.table->remove_user(other, freed);
    ASSERT_EQ(freed.size(), 1u);
    EXPECT_EQ(freed.front()->number, at.table->chunk_of(other_id));
    freed.clear();
  }
  at.table->add_user(same);
  at.table->clear(freed);
  EXPECT_TRUE(freed.empty()) << "a batch has it still";
  at.table->remove_user(same, freed);
  EXPECT_EQ(freed.size(), 1u);
  EXPECT_TRUE(at.table->chunks().empty());
}

}  // namespace
}  // namespace forebay
