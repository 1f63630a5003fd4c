#include "plan/packing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace forebay {
namespace {

Packing packed(std::vector<uint32_t> lengths, PackingOptions options, std::vector<int64_t> groups = {}) {
  Result<Packing> made = Packing::make(std::move(lengths), groups, options);
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return std::move(*made);
}

std::vector<PackedPiece> pieces_of(const Packing& packing, int64_t block) {
  std::vector<PackedPiece> pieces;
  packing.pieces(block, &pieces);
  return pieces;
}

TEST(Packing, ARestGoesIntoTheFirstOpenBlockThatHasRoom) {
  const Packing packing = packed({5, 4, 3, 2, 6}, {.length = 8});
  ASSERT_EQ(packing.size(), 3);
  EXPECT_EQ(pieces_of(packing, 0), (std::vector<PackedPiece>{{0, 0, 5, 0}, {2, 0, 3, 5}}));
  EXPECT_EQ(pieces_of(packing, 1), (std::vector<PackedPiece>{{1, 0, 4, 0}, {3, 0, 2, 4}}));
  EXPECT_EQ(pieces_of(packing, 2), (std::vector<PackedPiece>{{4, 0, 6, 0}}));
  EXPECT_EQ(packing.elements(), 20);
}

TEST(Packing, WhatFillsBlocksHasThemToItself) {
  const Packing packing = packed({3, 20}, {.length = 8});
  ASSERT_EQ(packing.size(), 3);
  EXPECT_EQ(pieces_of(packing, 0), (std::vector<PackedPiece>{{0, 0, 3, 0}, {1, 16, 4, 3}}));
  EXPECT_EQ(pieces_of(packing, 1), (std::vector<PackedPiece>{{1, 0, 8, 0}}));
  EXPECT_EQ(pieces_of(packing, 2), (std::vector<PackedPiece>{{1, 8, 8, 0}}));
}

TEST(Packing, TheFullestBlockIsClosedWhereTooManyAreOpen) {
  const Packing packing = packed({5, 6, 7, 2, 3}, {.length = 8, .open_blocks = 2});
  ASSERT_EQ(packing.size(), 4);
  EXPECT_EQ(pieces_of(packing, 1), (std::vector<PackedPiece>{{1, 0, 6, 0}})) << "it was closed for the third";
  EXPECT_EQ(pieces_of(packing, 0), (std::vector<PackedPiece>{{0, 0, 5, 0}, {3, 0, 2, 5}}));
  EXPECT_EQ(pieces_of(packing, 2), (std::vector<PackedPiece>{{2, 0, 7, 0}}));
  EXPECT_EQ(pieces_of(packing, 3), (std::vector<PackedPiece>{{4, 0, 3, 0}}));
}

TEST(Packing, GroupsShareNoBlock) {
  const Packing packing = packed({1, 1, 1, 1}, {.length = 8}, {1, 0, 3});
  EXPECT_EQ(packing.blocks_per_group(), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(pieces_of(packing, 1).size(), 3u);
}

TEST(Packing, EmptySequencesTakeNoBlock) {
  EXPECT_EQ(packed({0, 0}, {.length = 8}).size(), 0);
  EXPECT_EQ(packed({}, {.length = 8}).size(), 0);
  EXPECT_EQ(packed({0, 3, 0}, {.length = 8}).size(), 1);
}

TEST(Packing, EveryElementStandsInOneBlockOnceAndNoneIsOverfull) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    PackingOptions options{.length = 1 + below(50), .open_blocks = 1 + below(6)};
    std::vector<uint32_t> lengths(below(300));
    for (uint32_t& length : lengths) length = below(4) == 0 ? below(200) : below(40);
    std::vector<int64_t> groups;
    for (size_t left = lengths.size(); left > 0; left -= static_cast<size_t>(groups.back()))
      groups.push_back(static_cast<int64_t>(std::min<size_t>(left, below(60))));
    const Packing packing = packed(lengths, options, groups);

    std::vector<uint32_t> seen(lengths.size());
    // End of the parts seen of each sequence.
    std::map<int64_t, int64_t> next;
    for (int64_t block = 0; block < packing.size(); ++block) {
      int64_t at = 0;
      const std::vector<PackedPiece> pieces = pieces_of(packing, block);
      ASSERT_FALSE(pieces.empty());
      for (const PackedPiece& piece : pieces) {
        ASSERT_EQ(piece.at, at);
        ASSERT_GT(piece.count, 0);
        ASSERT_EQ(piece.from % options.length, 0);
        ASSERT_LE(piece.from + piece.count, lengths[static_cast<size_t>(piece.sequence)]);
        seen[static_cast<size_t>(piece.sequence)] += static_cast<uint32_t>(piece.count);
        at += piece.count;
      }
      ASSERT_LE(at, options.length);
    }
    ASSERT_EQ(seen, lengths) << "seed " << seed;
    ASSERT_EQ(std::accumulate(groups.begin(), groups.end(), int64_t{0}), static_cast<int64_t>(lengths.size()));
  }
}

TEST(Packing, LittleIsPaddingWhereManyBlocksAreOpen) {
  std::mt19937 random(1);
  std::vector<uint32_t> lengths(20'000);
  for (uint32_t& length : lengths) length = 1 + static_cast<uint32_t>(random() % 1500);
  const auto filled = [&](int64_t open) {
    const Packing packing = packed(lengths, {.length = 2048, .open_blocks = open});
    return static_cast<double>(packing.elements()) / static_cast<double>(packing.size() * packing.length());
  };
  EXPECT_GT(filled(64), 0.97);
  EXPECT_GT(filled(64), filled(4));
  EXPECT_GT(filled(4), filled(1));
}

TEST(Packing, BestFitTakesTheLongestFirstAndTheFullestBlockWithSpace) {
  const PackingOptions options{.length = 10, .rule = PackingRule::kBestFit};
  const Packing packing = packed({3, 6, 2, 7, 1, 23}, options);
  // 23 fills two blocks. Then 7 opens a block, and 6 the next one. The first 3 goes beside 7.
  ASSERT_EQ(packing.size(), 5);
  EXPECT_EQ(pieces_of(packing, 0), (std::vector<PackedPiece>{{5, 0, 10, 0}}));
  EXPECT_EQ(pieces_of(packing, 1), (std::vector<PackedPiece>{{5, 10, 10, 0}}));
  EXPECT_EQ(pieces_of(packing, 2), (std::vector<PackedPiece>{{0, 0, 3, 0}, {3, 0, 7, 3}}));
  EXPECT_EQ(pieces_of(packing, 3), (std::vector<PackedPiece>{{1, 0, 6, 0}, {4, 0, 1, 6}, {5, 20, 3, 7}}));
}

TEST(Packing, BestFitSharesBlocksWithinAWindow) {
  const PackingOptions options{.length = 10, .rule = PackingRule::kBestFit, .window = 2};
  const Packing packing = packed({4, 4, 2, 1, 9}, options);
  ASSERT_EQ(packing.size(), 3);
  EXPECT_EQ(pieces_of(packing, 0), (std::vector<PackedPiece>{{0, 0, 4, 0}, {1, 0, 4, 4}}));
  EXPECT_EQ(pieces_of(packing, 1), (std::vector<PackedPiece>{{2, 0, 2, 0}, {3, 0, 1, 2}}));
}

TEST(Packing, CutBlocksFollowEachOtherThroughTheSequencesOfAGroup) {
  const Packing packing = packed({5, 0, 6, 20, 3, 2}, {.length = 8, .rule = PackingRule::kCut}, {4, 0, 2});
  EXPECT_EQ(packing.blocks_per_group(), (std::vector<int64_t>{4, 0, 1}));
  EXPECT_EQ(packing.piece_count(), 8);
  EXPECT_EQ(pieces_of(packing, 0), (std::vector<PackedPiece>{{0, 0, 5, 0}, {2, 0, 3, 5}}));
  EXPECT_EQ(pieces_of(packing, 1), (std::vector<PackedPiece>{{2, 3, 3, 0}, {3, 0, 5, 3}}));
  EXPECT_EQ(pieces_of(packing, 2), (std::vector<PackedPiece>{{3, 5, 8, 0}}));
  EXPECT_EQ(pieces_of(packing, 3), (std::vector<PackedPiece>{{3, 13, 7, 0}})) << "the last block of its group";
  EXPECT_EQ(pieces_of(packing, 4), (std::vector<PackedPiece>{{4, 0, 3, 0}, {5, 0, 2, 3}}));
}

TEST(Packing, LongSequencesAreCutOffAtASideOrLeftOut) {
  for (const PackingRule rule : {PackingRule::kFirstFit, PackingRule::kBestFit, PackingRule::kCut}) {
    const auto blocks = [&](LongSequence too_long) {
      const Packing packing = packed({11, 3}, {.length = 8, .rule = rule, .too_long = too_long});
      EXPECT_EQ(count_longer(packing.lengths(), packing.length()), 1);
      std::vector<std::vector<PackedPiece>> all;
      for (int64_t block = 0; block < packing.size(); ++block) all.push_back(pieces_of(packing, block));
      return all;
    };
    using Blocks = std::vector<std::vector<PackedPiece>>;
    EXPECT_EQ(blocks(LongSequence::kRight), (Blocks{{{0, 0, 8, 0}}, {{1, 0, 3, 0}}}));
    EXPECT_EQ(blocks(LongSequence::kLeft), (Blocks{{{0, 3, 8, 0}}, {{1, 0, 3, 0}}}));
    EXPECT_EQ(blocks(LongSequence::kDrop), (Blocks{{{1, 0, 3, 0}}}));
  }
}

TEST(Packing, ABlockTakesAtMostTheGivenNumberOfSequences) {
  for (const PackingRule rule : {PackingRule::kFirstFit, PackingRule::kBestFit}) {
    const Packing packing = packed(std::vector<uint32_t>(7, 1), {.length = 8, .rule = rule, .max_segments = 3});
    ASSERT_EQ(packing.size(), 3);
    EXPECT_EQ(pieces_of(packing, 0).size(), 3u);
    EXPECT_EQ(pieces_of(packing, 2).size(), 1u);
    EXPECT_EQ(packed({1, 1, 20}, {.length = 8, .rule = rule, .max_segments = 1}).size(), 5);
  }
}

// The elements of each sequence that stand in blocks, in the order of the blocks.
std::map<int64_t, std::vector<int64_t>> elements_in_blocks(const Packing& packing, int64_t max_segments) {
  std::map<int64_t, std::vector<int64_t>> elements;
  for (int64_t block = 0; block < packing.size(); ++block) {
    int64_t at = 0;
    const std::vector<PackedPiece> pieces = pieces_of(packing, block);
    EXPECT_FALSE(pieces.empty());
    EXPECT_TRUE(max_segments == 0 || static_cast<int64_t>(pieces.size()) <= max_segments);
    for (const PackedPiece& piece : pieces) {
      EXPECT_EQ(piece.at, at);
      EXPECT_GT(piece.count, 0);
      at += piece.count;
      for (int64_t i = 0; i < piece.count; ++i) elements[piece.sequence].push_back(piece.from + i);
    }
    EXPECT_LE(at, packing.length());
  }
  return elements;
}

TEST(Packing, EveryRulePacksEachElementThatIsKeptOnce) {
  for (uint32_t seed = 0; seed < 600; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    PackingOptions options{.length = 1 + below(50), .open_blocks = 1 + below(6), .window = 1 + below(80)};
    options.rule = static_cast<PackingRule>(seed % 3);
    options.too_long = static_cast<LongSequence>(below(4));
    if (options.rule != PackingRule::kCut) options.max_segments = below(4);
    std::vector<uint32_t> lengths(below(400));
    for (uint32_t& length : lengths) length = below(4) == 0 ? below(200) : below(40);
    std::vector<int64_t> groups;
    for (size_t left = lengths.size(); left > 0; left -= static_cast<size_t>(groups.back()))
      groups.push_back(static_cast<int64_t>(std::min<size_t>(left, below(60))));
    const Packing packing = packed(lengths, options, groups);

    const KeptLengths kept(lengths, options.length, options.too_long);
    std::map<int64_t, std::vector<int64_t>> wanted, found = elements_in_blocks(packing, options.max_segments);
    int64_t all = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (kept.count(i) == 0) continue;
      std::vector<int64_t>& elements = wanted[static_cast<int64_t>(i)];
      elements.resize(static_cast<size_t>(kept.count(i)));
      std::iota(elements.begin(), elements.end(), kept.from(i));
      all += kept.count(i);
    }
    for (auto& [sequence, elements] : found) std::ranges::sort(elements);
    ASSERT_EQ(found, wanted) << "seed " << seed;
    ASSERT_EQ(packing.elements(), all);
    int64_t blocks = 0;
    for (const int64_t of_group : packing.blocks_per_group()) blocks += of_group;
    ASSERT_EQ(packing.size(), blocks);
  }
}

std::vector<uint32_t> lengths_of_texts(size_t count) {
  std::mt19937 random(1);
  std::lognormal_distribution<double> lengths(6, 1);  // the mean is 666
  std::vector<uint32_t> texts(count);
  for (uint32_t& length : texts) length = 1 + static_cast<uint32_t>(lengths(random));
  return texts;
}

TEST(Packing, BestFitLeavesLessThanOnePercentOfPadding) {
  const std::vector<uint32_t> lengths = lengths_of_texts(50'000);
  const auto filled = [&](PackingRule rule) {
    const Packing packing = packed(lengths, {.length = 2048, .rule = rule});
    return static_cast<double>(packing.elements()) / static_cast<double>(packing.size() * packing.length());
  };
  EXPECT_GT(filled(PackingRule::kBestFit), 0.99);
  EXPECT_GT(filled(PackingRule::kBestFit), filled(PackingRule::kFirstFit));
  EXPECT_GT(filled(PackingRule::kCut), 0.9999);
}

TEST(Packing, MemoryIsAFewBytesForEachSequence) {
  const std::vector<uint32_t> lengths = lengths_of_texts(50'000);
  for (const PackingRule rule : {PackingRule::kFirstFit, PackingRule::kBestFit, PackingRule::kCut}) {
    const Packing packing = packed(lengths, {.length = 2048, .rule = rule});
    const auto sequences = static_cast<uint64_t>(lengths.size());
    const auto blocks = static_cast<uint64_t>(packing.size()), pieces = static_cast<uint64_t>(packing.piece_count());
    const bool cuts = rule == PackingRule::kCut;
    EXPECT_LE(packing.bytes(), 4 * sequences + (cuts ? sequences / 8 + 64 : 8 * pieces + 8 * (blocks + 1)));
  }
}

TEST(Packing, NonsenseIsRefused) {
  for (const PackingOptions& options :
       {PackingOptions{.length = 0}, PackingOptions{.length = -1}, PackingOptions{.length = int64_t{1} << 31},
        PackingOptions{.length = 8, .open_blocks = 0}, PackingOptions{.length = 8, .window = 0},
        PackingOptions{.length = 8, .max_segments = -1},
        PackingOptions{.length = 8, .rule = PackingRule::kCut, .max_segments = 2}})
    EXPECT_EQ(Packing::make({1}, {}, options).status().code(), Code::kInvalidArgument);
}

std::vector<std::vector<int64_t>> sequences_with(const PackingOptions& options, std::vector<uint32_t> lengths,
                                                 const std::vector<BlockLimit>& limits) {
  const Result<Packing> packing = Packing::make(std::move(lengths), {}, options, limits);
  EXPECT_TRUE(packing.ok()) << packing.status().to_string();
  std::vector<std::vector<int64_t>> blocks;
  for (int64_t block = 0; packing.ok() && block < packing->size(); ++block) {
    blocks.emplace_back();
    for (const PackedPiece& piece : pieces_of(*packing, block)) blocks.back().push_back(piece.sequence);
  }
  return blocks;
}

TEST(Packing, FurtherBudgetsHold) {
  const std::vector<BlockLimit> limits{{4, {3, 2, 1, 4, 0}}};
  for (const PackingRule rule : {PackingRule::kFirstFit, PackingRule::kBestFit}) {
    const PackingOptions options{.length = 8, .rule = rule, .too_long = LongSequence::kDrop};
    const auto blocks = sequences_with(options, {2, 2, 2, 2, 2}, limits);
    for (const auto& block : blocks) {
      uint32_t cost = 0;
      for (const int64_t sequence : block) cost += limits[0].costs[static_cast<size_t>(sequence)];
      EXPECT_LE(cost, 4u);
    }
    EXPECT_EQ(blocks.size(), 3u);
  }
  EXPECT_EQ(sequences_with({.length = 8, .too_long = LongSequence::kDrop}, {2, 2, 2, 2, 2}, limits),
            (std::vector<std::vector<int64_t>>{{0, 2, 4}, {1}, {3}}));
}

TEST(Packing, FurtherBudgetsAreForWholeSequences) {
  const std::vector<BlockLimit> limits{{4, {3}}}, above{{4, {5}}};
  const auto code = [](const PackingOptions& options, const std::vector<BlockLimit>& of) {
    return Packing::make({2}, {}, options, of).status().code();
  };
  EXPECT_EQ(code({.length = 8}, limits), Code::kInvalidArgument) << "rows may be split";
  EXPECT_EQ(code({.length = 8, .rule = PackingRule::kCut, .too_long = LongSequence::kDrop}, limits),
            Code::kInvalidArgument);
  EXPECT_EQ(code({.length = 8, .too_long = LongSequence::kDrop}, above), Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
