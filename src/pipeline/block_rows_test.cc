#include "pipeline/block_rows.h"

#include <numeric>

#include <gtest/gtest.h>

#include "plan/shard_assignment.h"

namespace forebay {
namespace {

std::shared_ptr<const Packing> packed(std::vector<uint32_t> lengths, int64_t length) {
  return std::make_shared<const Packing>(Packing::make(std::move(lengths), {}, {.length = length}).value());
}

StepPlan first_step(const std::shared_ptr<const Packing>& packing, int64_t batch_size) {
  const EqualBatches schedule({.epoch_size = packing->size(), .batch_size = batch_size});
  return *IndexedItinerary(sequential_order(packing->size()), BranchSamples{first_samples(packing->size()), 0, packing},
                           schedule, 0, 1)
              .step({});
}

TEST(BlockRows, AStepHasThePiecesOfItsBlocks) {
  const StepPlan step = first_step(packed({3, 20, 2}, 8), 2);
  ASSERT_EQ(step.blocks.size(), 2u);
  EXPECT_EQ(step.pieces, (std::vector<PackedPiece>{{0, 0, 3, 0}, {1, 16, 4, 3}, {1, 0, 8, 0}}));
  ASSERT_EQ(step.rows.size(), 3u);
  EXPECT_EQ(step.blocks[1].first, 2u);
  EXPECT_EQ(step.rows[1].position, 0);
  EXPECT_EQ(step.rows[2].position, 1);
  EXPECT_EQ(step.after.position, 2);
}

TEST(BlockRows, EveryRowWritesUpToTheNextOne) {
  const auto packing = packed({3, 20, 2}, 8);
  const std::vector<BlockRow> rows = rows_in_blocks(first_step(packing, 2), 8);
  std::vector<uint16_t> numbers(20);
  std::iota(numbers.begin(), numbers.end(), 100);
  const auto bytes = [&](size_t from, size_t count) {
    return RowBytes(reinterpret_cast<const uint8_t*>(numbers.data() + from), count * sizeof(uint16_t));
  };
  const std::vector<RowBytes> pieces{bytes(0, 3), bytes(16, 4), bytes(0, 8)};

  std::vector<uint16_t> elements(16, 7);
  write_blocks(BlockValue::kElements, DType::kUint16, 9, rows, pieces, reinterpret_cast<uint8_t*>(elements.data()));
  EXPECT_EQ(elements,
            (std::vector<uint16_t>{100, 101, 102, 116, 117, 118, 119, 9, 100, 101, 102, 103, 104, 105, 106, 107}));
  std::vector<int32_t> of(16, -1);
  write_blocks(BlockValue::kSegments, DType::kUint16, 9, rows, pieces, reinterpret_cast<uint8_t*>(of.data()));
  EXPECT_EQ(of, (std::vector<int32_t>{1, 1, 1, 2, 2, 2, 2, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
  write_blocks(BlockValue::kPositions, DType::kUint16, 9, rows, pieces, reinterpret_cast<uint8_t*>(of.data()));
  EXPECT_EQ(of, (std::vector<int32_t>{0, 1, 2, 16, 17, 18, 19, 0, 0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(BlockRows, WhatWasLeftOutIsPadding) {
  const std::vector<BlockRow> rows = rows_in_blocks(first_step(packed({2, 2}, 6), 1), 6);
  const std::vector<uint8_t> numbers{5, 6};
  std::vector<uint8_t> elements(6, 7);
  const std::vector<RowBytes> pieces{{}, numbers};
  write_blocks(BlockValue::kElements, DType::kUint8, 0, rows, pieces, elements.data());
  EXPECT_EQ(elements, (std::vector<uint8_t>{0, 0, 5, 6, 0, 0}));
}

}  // namespace
}  // namespace forebay
