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
  const auto write = [&](BlockValue value, auto& to) {
    const BlockField field{.name = "n", .value = value, .pad = 9};
    write_blocks(field, DType::kUint16, rows, pieces, reinterpret_cast<uint8_t*>(to.data()));
  };
  write(BlockValue::kElements, elements);
  EXPECT_EQ(elements,
            (std::vector<uint16_t>{100, 101, 102, 116, 117, 118, 119, 9, 100, 101, 102, 103, 104, 105, 106, 107}));
  std::vector<int32_t> of(16, -1);
  write(BlockValue::kSegments, of);
  EXPECT_EQ(of, (std::vector<int32_t>{1, 1, 1, 2, 2, 2, 2, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
  write(BlockValue::kPositions, of);
  EXPECT_EQ(of, (std::vector<int32_t>{0, 1, 2, 0, 1, 2, 3, 0, 0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(BlockRows, WhatWasLeftOutIsPadding) {
  const std::vector<BlockRow> rows = rows_in_blocks(first_step(packed({2, 2}, 6), 1), 6);
  const std::vector<uint8_t> numbers{5, 6};
  std::vector<uint8_t> elements(6, 7);
  const std::vector<RowBytes> pieces{{}, numbers};
  write_blocks({.name = "n"}, DType::kUint8, rows, pieces, elements.data());
  EXPECT_EQ(elements, (std::vector<uint8_t>{0, 0, 5, 6, 0, 0}));
}

// The elements of one row of a block of six, whose sequence has `given` elements: 1, 2, ….
std::vector<int32_t> written(const BlockField& field, int32_t given, BlockRow row) {
  std::vector<int32_t> sequence(static_cast<size_t>(given)), block(6, 7);
  std::iota(sequence.begin(), sequence.end(), 1);
  const RowBytes bytes(reinterpret_cast<const uint8_t*>(sequence.data()), sequence.size() * sizeof(int32_t));
  row.end = 6;
  write_blocks(field, DType::kInt32, {&row, 1}, {&bytes, 1}, reinterpret_cast<uint8_t*>(block.data()));
  return block;
}

TEST(BlockRows, AnEndIsAppendedAndOtherFieldsRepeatTheirLastElement) {
  using Block = std::vector<int32_t>;
  const BlockRow row{.count = 4, .segment = 1, .appended = true}, alone{.count = 1, .segment = 1, .appended = true};
  EXPECT_EQ(written({.name = "n", .appended = 50}, 3, row), (Block{1, 2, 3, 50, 0, 0}));
  EXPECT_EQ(written({.name = "n"}, 3, row), (Block{1, 2, 3, 3, 0, 0}));
  EXPECT_EQ(written({.name = "n", .appended = 50}, 1, alone), (Block{50, 0, 0, 0, 0, 0}));
  EXPECT_EQ(written({.name = "n"}, 1, alone), (Block{1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(written({.name = "n", .appended = 50}, 0, row), (Block{0, 0, 0, 0, 0, 0})) << "it was left out";
}

TEST(BlockRows, AShiftGivesTheNextElementsOfTheSegment) {
  using Block = std::vector<int32_t>;
  const BlockField labels{.name = "n", .shift = 1, .pad = -100, .appended = 50};
  EXPECT_EQ(written(labels, 4, {.count = 4}), (Block{2, 3, 4, -100, -100, -100}));
  EXPECT_EQ(written(labels, 3, {.count = 4, .appended = true}), (Block{2, 3, 50, -100, -100, -100}));
  EXPECT_EQ(written(labels, 1, {.count = 1, .appended = true}), (Block{-100, -100, -100, -100, -100, -100}));
  EXPECT_EQ(written({.name = "n", .shift = 3, .pad = 9}, 2, {.count = 2}), (Block{9, 9, 9, 9, 9, 9}));
}

}  // namespace
}  // namespace forebay
