#include "base/chunk_source.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "base/part_search.h"

// Tests the parts that all chunk sources share, and the search for the chunk that holds a row.

namespace forebay {
namespace {

/// Chunks of these sizes. The chunks in `unknown` have no version.
class Chunks final : public ChunkSource {
 public:
  explicit Chunks(const std::vector<int64_t>& rows, std::set<int64_t> unknown = {})
      : unknown_(std::move(unknown)), begins_{0} {
    for (const int64_t count : rows) begins_.push_back(begins_.back() + count);
  }
  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return begins_.back(); }
  Hash128 version() const override { return {}; }
  uint64_t index_bytes() const override { return 0; }
  std::string key(int64_t) const override { return {}; }
  int64_t chunks() const override { return static_cast<int64_t>(begins_.size()) - 1; }
  int64_t chunk_begin(int64_t chunk) const override { return begins_[static_cast<size_t>(chunk)]; }
  std::string chunk_name(int64_t) const override { return {}; }
  ChunkCost chunk_cost(int64_t) const override { return {}; }
  ChunkFetch chunk_fetch(int64_t) const override { return {}; }
  Result<Columns> decode(int64_t, std::vector<Buffer>, WorkMemory&) const override { return Columns(); }
  std::optional<Hash128> chunk_identity(int64_t chunk) const override {
    if (unknown_.contains(chunk)) return std::nullopt;
    return hash128(&chunk, sizeof chunk);
  }
  Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string>) const override {
    return Status(Code::kUnsupported, "it has none");
  }

 private:
  const Schema schema_;
  const std::set<int64_t> unknown_;
  std::vector<int64_t> begins_;
};

TEST(ChunkSource, TheFewestRowsOfAChunk) {
  EXPECT_EQ(Chunks({5, 3, 9}).fewest_rows(), 3);
  EXPECT_EQ(Chunks({5, 0, 9}).fewest_rows(), 0);
  EXPECT_EQ(Chunks({7}).fewest_rows(), 7);
  EXPECT_EQ(Chunks({}).fewest_rows(), 0);
}

TEST(ChunkSource, EachRowIsKnownByItsChunkAndItsPlaceThere) {
  const Chunks source({3, 0, 2, 1});
  std::set<std::string> seen;
  for (int64_t id = 0; id < source.size(); ++id) {
    const auto identity = source.identity(id);
    ASSERT_TRUE(identity.has_value());
    EXPECT_TRUE(identity->lasting);
    EXPECT_TRUE(seen.insert(identity->hash.to_string()).second) << id;
  }
}

TEST(ChunkSource, WhatStandsBeforeAChunkIsNoPartOfItsRowsIdentity) {
  // The same chunk, number 1, after a chunk of another size.
  EXPECT_EQ(Chunks({3, 4}).identity(3 + 2)->hash, Chunks({100, 4}).identity(100 + 2)->hash);
  EXPECT_FALSE(Chunks({3, 4}).identity(3 + 2)->hash == Chunks({3, 4}).identity(3 + 1)->hash);
}

TEST(ChunkSource, RowsOfAnEmptyChunkAreNobodys) {
  const Chunks source({2, 0, 0, 2}, {1, 2});
  for (int64_t id = 0; id < 4; ++id)
    EXPECT_TRUE(source.identity(id).has_value()) << id << ": that of a chunk with rows";
}

TEST(ChunkSource, WithoutAVersionNothingIsKnown) {
  const Chunks source({2, 2, 2}, {1});
  EXPECT_TRUE(source.identity(1));
  EXPECT_EQ(source.identity(2), std::nullopt);
  EXPECT_EQ(source.identity(3), std::nullopt);
  EXPECT_TRUE(source.identity(4));
}

TEST(PartSearch, FindsThePartOfEachValueAsACountWould) {
  std::mt19937 draw(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> begins = {0};
    for (size_t parts = draw() % 40; parts > 0; --parts)
      begins.push_back(begins.back() + static_cast<int64_t>(draw() % 4));
    for (int64_t value = 0; value < begins.back() + 3; ++value) {
      size_t last = 0;
      for (size_t part = 0; part < begins.size(); ++part) last = begins[part] <= value ? part : last;
      const auto begin_of = [](int64_t begin) { return begin; };
      ASSERT_EQ(part_holding(std::span<const int64_t>(begins), value, begin_of), last)
          << "of " << begins.size() << " parts, value " << value;
    }
  }
}

}  // namespace
}  // namespace forebay
