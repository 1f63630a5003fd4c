#include "plan/packed_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/packed_windows.h"
#include "plan/random.h"
#include "plan/test_nodes.h"

namespace forebay {
namespace {

std::shared_ptr<const SequenceSizes> sizes_of(std::vector<uint32_t> lengths) {
  return std::make_shared<const SequenceSizes>(SequenceSizes{std::move(lengths)});
}

std::shared_ptr<const SequenceSizes> random_sizes(int64_t count, uint64_t seed, double longest = 40) {
  RandomStream random({.seed = seed}, 0);
  std::vector<uint32_t> lengths;
  for (int64_t i = 0; i < count; ++i) lengths.push_back(static_cast<uint32_t>(longest * random.uniform()));
  return sizes_of(std::move(lengths));
}

std::shared_ptr<const PackedWindows> windowed(std::shared_ptr<const PlanNode> plan, SizesOfLeaves sizes,
                                              const PackedWindowsOptions& options) {
  auto made = PackedWindows::make(std::move(plan), std::move(sizes), options);
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return *made;
}

struct Block {
  std::vector<PackedPiece> pieces;
  std::vector<Draw> draws;
  friend bool operator==(const Block&, const Block&) = default;
};

Block block_at(const PackedWindows& windows, int64_t epoch, int64_t number) {
  Block block;
  windows.pieces(epoch, number, &block.pieces, &block.draws);
  return block;
}

std::vector<Block> blocks_of(const PackedWindows& windows, int64_t epoch) {
  std::vector<Block> blocks;
  for (int64_t number = 0; number < windows.size(epoch); ++number) blocks.push_back(block_at(windows, epoch, number));
  return blocks;
}

// Trees over two leaves of 150 and 70 samples.
std::vector<std::shared_ptr<const PlanNode>> trees() {
  const auto leaves = [] { return shuffled_leaves({150, 70}); };
  MixOptions options{.seed = 3, .stages = {{0, {3, 1}}, {400, {1, 2}}}, .samples = 300};
  std::vector<std::shared_ptr<const PlanNode>> all;
  all.push_back(concat_node(leaves()));
  all.push_back(shuffled_union_node(leaves(), 5));
  all.push_back(repeat_node(shuffled_union_node(leaves(), 5), 1.5));
  all.push_back(std::move(*mix_node(leaves(), options)));
  return all;
}

std::vector<PackingOptions> rules() {
  std::vector<PackingOptions> all;
  for (const PackingRule rule : {PackingRule::kFirstFit, PackingRule::kBestFit, PackingRule::kCut})
    for (const LongSequence too_long : {LongSequence::kSplit, LongSequence::kLeft, LongSequence::kDrop})
      for (const int64_t window : {7, 64, 100'000})
        all.push_back({.length = 16, .rule = rule, .too_long = too_long, .window = window});
  return all;
}

// Elements that are left of each draw (leaf, pass, place).
using LeftOfDraws = std::map<std::tuple<int32_t, int64_t, int64_t>, int64_t>;

TEST(PackedWindows, BlocksHaveEachElementOfEachDrawOfAnEpochOnce) {
  const SizesOfLeaves sizes{random_sizes(150, 1), random_sizes(70, 2)};
  for (const auto& plan : trees()) {
    for (const PackingOptions& rule : rules()) {
      const auto windows = windowed(plan, sizes, {.packing = rule});
      for (const int64_t epoch : {2, 0, 1}) {
        std::vector<Draw> draws(static_cast<size_t>(plan->size()));
        plan->draws(epoch, 0, draws);
        LeftOfDraws left;
        for (const Draw& draw : draws) {
          const std::vector<uint32_t> length{
              sizes[static_cast<size_t>(draw.leaf)]->lengths[static_cast<size_t>(draw.index)]};
          left[{draw.leaf, draw.pass, draw.place}] = KeptLengths(length, rule.length, rule.too_long).count(0);
        }
        for (const Block& block : blocks_of(*windows, epoch)) {
          ASSERT_EQ(block.pieces.size(), block.draws.size());
          ASSERT_FALSE(block.pieces.empty());
          int64_t filled = 0;
          for (size_t i = 0; i < block.pieces.size(); ++i) {
            ASSERT_EQ(block.pieces[i].at, filled);
            ASSERT_EQ(block.pieces[i].sequence, block.draws[i].index);
            filled += block.pieces[i].count;
            left[{block.draws[i].leaf, block.draws[i].pass, block.draws[i].place}] -= block.pieces[i].count;
          }
          ASSERT_LE(filled, rule.length);
        }
        for (const auto& [draw, count] : left) ASSERT_EQ(count, 0);
      }
    }
  }
}

TEST(PackedWindows, ABlockIsTheSameWhateverWasAskedForBefore) {
  const SizesOfLeaves sizes{random_sizes(150, 1), random_sizes(70, 2)};
  for (const auto& plan : trees()) {
    const PackedWindowsOptions options{.packing = {.length = 16, .rule = PackingRule::kBestFit, .window = 20}};
    const auto walked = windowed(plan, sizes, options);
    for (int64_t epoch = 0; epoch < 6; ++epoch) {
      const std::vector<Block> blocks = blocks_of(*walked, epoch);
      const auto resumed = windowed(plan, sizes, options);
      for (auto number = std::ssize(blocks) - 1; number >= 0; number -= 5) {
        EXPECT_EQ(block_at(*resumed, epoch, number), blocks[static_cast<size_t>(number)]);
        EXPECT_GE(resumed->count_blocks(epoch, number + 1), number + 1);
      }
      EXPECT_EQ(resumed->size(epoch), std::ssize(blocks));
    }
  }
}

TEST(PackedWindows, BlocksComeFromTheirWindowInTheOrderOfTheirLongestPieces) {
  const std::shared_ptr<const PlanNode> plan = leaf_node(sequential_order(1000));
  const SizesOfLeaves sizes{random_sizes(1000, 4)};
  for (const PackingRule rule : {PackingRule::kFirstFit, PackingRule::kBestFit, PackingRule::kCut}) {
    const auto windows = windowed(plan, sizes, {.packing = {.length = 64, .rule = rule, .window = 100}});
    int64_t before = 0;
    for (int64_t number = 0; number < windows->size(0); ++number) {
      const Block block = block_at(*windows, 0, number);
      const int64_t begin = windows->first_position(0, number);
      EXPECT_EQ(begin % 100, 0);
      for (const Draw& draw : block.draws) EXPECT_EQ(draw.place / 100, begin / 100);
      const auto longest = std::ranges::max_element(block.pieces, {}, &PackedPiece::count);
      EXPECT_GE(longest->sequence, before);
      before = longest->sequence;
    }
    EXPECT_EQ(windows->first_position(0, windows->size(0)), 1000);
  }
}

TEST(PackedWindows, EpochsOfAShuffledPlanHaveOtherBlocks) {
  const SizesOfLeaves sizes{random_sizes(500, 4)};
  const auto windows =
      windowed(shuffled_leaf(500, 1), sizes, {.packing = {.length = 64, .rule = PackingRule::kBestFit}});
  const auto neighbours = [&](int64_t epoch) {
    std::vector<std::vector<int64_t>> all;
    for (const Block& block : blocks_of(*windows, epoch)) {
      std::vector<int64_t>& samples = all.emplace_back();
      for (const PackedPiece& piece : block.pieces) samples.push_back(piece.sequence);
      std::ranges::sort(samples);
    }
    std::ranges::sort(all);
    return all;
  };
  EXPECT_NE(neighbours(0), neighbours(1));
  EXPECT_EQ(neighbours(1), neighbours(1));
}

TEST(PackedWindows, BlocksStayWithinFurtherBudgets) {
  const auto random = random_sizes(300, 4, 16);
  const auto sizes =
      std::make_shared<const SequenceSizes>(SequenceSizes{random->lengths, {random_sizes(300, 9, 8)->lengths}});
  for (const PackingRule rule : {PackingRule::kFirstFit, PackingRule::kBestFit}) {
    const auto windows = windowed(
        shuffled_leaf(300, 1), {sizes},
        {.packing = {.length = 64, .rule = rule, .too_long = LongSequence::kDrop, .window = 50}, .limits = {12}});
    for (const Block& block : blocks_of(*windows, 3)) {
      int64_t cost = 0;
      for (const PackedPiece& piece : block.pieces) cost += sizes->costs[0][static_cast<size_t>(piece.sequence)];
      EXPECT_LE(cost, 12);
    }
  }
  EXPECT_FALSE(PackedWindows::make(shuffled_leaf(300, 1), {sizes},
                                   {.packing = {.length = 64, .too_long = LongSequence::kDrop}, .limits = {3}})
                   .ok());
}

TEST(PackedWindows, OptionsThatCannotHoldAreRefused) {
  const auto make = [](const PackingOptions& packing, std::vector<uint32_t> lengths) {
    return PackedWindows::make(shuffled_leaf(std::ssize(lengths), 1), {sizes_of(lengths)}, {.packing = packing})
        .status();
  };
  EXPECT_EQ(make({.length = 0}, {1}).code(), Code::kInvalidArgument);
  EXPECT_EQ(make({.length = 8, .window = 0}, {1}).code(), Code::kInvalidArgument);
  EXPECT_EQ(make({.length = 1}, {UINT32_MAX, 1}).code(), Code::kUnsupported) << "2^32 blocks in a window";
  EXPECT_TRUE(make({.length = 1024}, {UINT32_MAX, 1}).ok());
}

PackedBatches batches(const std::shared_ptr<const PackedWindows>& windows, int64_t world,
                      LastPolicy last = LastPolicy::kPartial) {
  return {windows, {.batch_size = 2, .world_size = world, .last = last}};
}

// The blocks of an epoch from a place on, in steps of all ranks. Checks that all have rows.
std::vector<int64_t> walk(const PackedBatches& steps, int64_t world, Order::Use at) {
  std::vector<int64_t> blocks;
  std::vector<Row> rows;
  int64_t left = steps.steps_left(at);
  for (; steps.has_step(at); at.position = steps.next_position(at), --left) {
    for (int64_t rank = 0; rank < world; ++rank) {
      steps.rows(at, rank, &rows);
      EXPECT_FALSE(rows.empty());
      EXPECT_LE(std::ssize(rows), steps.most_rows());
      for (const Row& row : rows)
        if (!row.padding) blocks.push_back(row.position);
    }
  }
  EXPECT_EQ(left, 0);
  return blocks;
}

TEST(PackedBatches, AnyNumberOfRanksTakesAllBlocksFromAnyPosition) {
  const SizesOfLeaves sizes{random_sizes(150, 1), random_sizes(70, 2)};
  for (const auto& plan : trees()) {
    const auto windows = windowed(plan, sizes, {.packing = {.length = 32, .window = 30}});
    for (const int64_t world : {1, 2, 5, 300}) {
      for (const int64_t epoch : {0, 3}) {
        for (int64_t begin = 0; begin < windows->size(epoch); begin += 13) {
          const std::vector<int64_t> blocks = walk(batches(windows, world), world, {epoch, begin});
          ASSERT_EQ(std::ssize(blocks), windows->size(epoch) - begin);
          for (int64_t i = 0; i < std::ssize(blocks); ++i) ASSERT_EQ(blocks[static_cast<size_t>(i)], begin + i);
        }
      }
    }
  }
}

TEST(PackedBatches, EpochsHaveAsManyStepsAsTheirBlocksTake) {
  const SizesOfLeaves sizes{random_sizes(60, 1, 30)};
  const auto windows = windowed(shuffled_leaf(60, 1), sizes, {.packing = {.length = 32, .window = 4}});
  std::vector<int64_t> counts;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    counts.push_back(windows->size(epoch));
    for (const LastPolicy last : {LastPolicy::kPartial, LastPolicy::kDrop, LastPolicy::kPad}) {
      const int64_t steps = batches(windows, 3, last).steps_left({epoch, 0});
      EXPECT_EQ(steps, last == LastPolicy::kDrop ? counts.back() / 6 : (counts.back() + 5) / 6);
    }
  }
  EXPECT_NE(*std::ranges::min_element(counts), *std::ranges::max_element(counts));
}

TEST(PackedBatches, AnEpochWithoutElementsHasNoStep) {
  const auto windows = windowed(shuffled_leaf(3, 1), {sizes_of({0, 0, 0})}, {.packing = {.length = 8}});
  EXPECT_FALSE(batches(windows, 2).has_step({0, 0}));
  const auto none = windowed(shuffled_leaf(0, 1), {sizes_of({})}, {.packing = {.length = 8}});
  EXPECT_FALSE(batches(none, 2).has_step({0, 0}));
  EXPECT_EQ(none->size(0), 0);
}

}  // namespace
}  // namespace forebay
