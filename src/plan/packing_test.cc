#include "plan/packing.h"

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

TEST(Packing, NonsenseIsRefused) {
  for (const PackingOptions& options :
       {PackingOptions{.length = 0}, PackingOptions{.length = -1}, PackingOptions{.length = int64_t{1} << 31},
        PackingOptions{.length = 8, .open_blocks = 0}})
    EXPECT_EQ(Packing::make({1}, {}, options).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
