#include "arrow_codec/piece_file.h"

#include <random>

#include <arrow/io/caching.h>
#include <gtest/gtest.h>

#include "arrow_codec/byte_ranges.h"
#include "arrow_codec/recycling_pool.h"
#include "arrow_codec/table_test_support.h"

namespace forebay {
namespace {

using namespace arrow_codec_test;

constexpr uint64_t kFileSize = 100;

std::string file_bytes() {
  std::string bytes(kFileSize, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}

PieceFile file_of(const std::vector<ByteRange>& ranges) {
  std::vector<TableFile::Piece> pieces;
  for (const ByteRange& range : ranges) pieces.push_back(piece_of(file_bytes(), range));
  return PieceFile(pieces, kFileSize);
}

TEST(PieceFile, AReadInsideAPieceIsAViewThatOutlivesTheFile) {
  const TableFile::Piece piece = piece_of(file_bytes(), {10, 30});
  std::shared_ptr<arrow::Buffer> read;
  {
    PieceFile file({&piece, 1}, kFileSize);
    read = file.ReadAt(15, 5).ValueOrDie();
  }
  EXPECT_EQ(read->data(), piece.bytes.data() + 5) << "nothing was copied";
  EXPECT_EQ(read->ToString(), file_bytes().substr(15, 5));
}

TEST(PieceFile, AReadAcrossPiecesThatTouchJoinsThem) {
  PieceFile file = file_of({{20, 10}, {10, 10}, {30, 1}});
  EXPECT_EQ(file.ReadAt(12, 19).ValueOrDie()->ToString(), file_bytes().substr(12, 19));
  std::string out(19, '?');
  EXPECT_EQ(file.ReadAt(12, 19, out.data()).ValueOrDie(), 19);
  EXPECT_EQ(out, file_bytes().substr(12, 19));
}

TEST(PieceFile, WhatWasNotFetchedIsAnErrorThatNamesThePlace) {
  PieceFile file = file_of({{10, 10}, {30, 10}});
  for (const auto& [position, length] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {9, 2}, {15, 10}, {25, 1}, {40, 1}}) {
    const auto read = file.ReadAt(position, length);
    ASSERT_FALSE(read.ok()) << position;
    EXPECT_NE(read.status().message().find("were not fetched"), std::string::npos) << read.status().message();
    std::string out(10, '?');
    EXPECT_FALSE(file.ReadAt(position, length, out.data()).ok()) << position;
  }
  EXPECT_NE(file.ReadAt(15, 10).status().message().find("at 20 "), std::string::npos) << "the first that is missing";
}

TEST(PieceFile, ReadsEndAtTheEndOfTheFile) {
  PieceFile file = file_of({{90, 10}});
  EXPECT_EQ(file.ReadAt(95, 50).ValueOrDie()->size(), 5);
  EXPECT_EQ(file.ReadAt(100, 1).ValueOrDie()->size(), 0);
  EXPECT_EQ(file.ReadAt(5000, INT64_MAX).ValueOrDie()->size(), 0);
  EXPECT_EQ(file.GetSize().ValueOrDie(), 100);
}

TEST(PieceFile, NegativePlacesAndLengthsAreErrors) {
  PieceFile file = file_of({{0, 100}});
  char out[1];
  for (const int64_t negative : {int64_t{-1}, INT64_MIN}) {
    EXPECT_FALSE(file.ReadAt(negative, 1).ok());
    EXPECT_FALSE(file.ReadAt(1, negative).ok());
    EXPECT_FALSE(file.ReadAt(negative, 1, out).ok());
    EXPECT_FALSE(file.ReadAt(1, negative, out).ok());
  }
}

TEST(PieceFile, HasNoPositionThatThreadsCouldDisturb) {
  PieceFile file = file_of({{0, 100}});
  char out[1];
  EXPECT_FALSE(file.Tell().ok());
  EXPECT_FALSE(file.Seek(3).ok());
  EXPECT_FALSE(file.Read(1).ok());
  EXPECT_FALSE(file.Read(1, out).ok());
}

TEST(PieceFile, AnAsynchronousReadIsDoneWhenItReturns) {
  PieceFile file = file_of({{0, 50}});
  const auto there = file.ReadAsync(arrow::io::default_io_context(), 3, 4);
  ASSERT_TRUE(there.is_finished()) << "Arrow's threads know nothing of our memory";
  EXPECT_EQ(there.result().ValueOrDie()->ToString(), file_bytes().substr(3, 4));
  const auto missing = file.ReadAsync(arrow::io::default_io_context(), 60, 4, true);
  ASSERT_TRUE(missing.is_finished());
  EXPECT_FALSE(missing.result().ok());
}

TEST(PieceFile, RandomReadsOfRandomPiecesAreTheBytesOrAnError) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<ByteRange> ranges(random() % 8);
    std::vector<bool> there(kFileSize, false);
    for (ByteRange& range : ranges) {  // they may overlap, be adjacent or be empty
      range.offset = random() % kFileSize;
      range.length = random() % std::min<uint64_t>(30, kFileSize - range.offset + 1);
      std::fill_n(there.begin() + static_cast<ptrdiff_t>(range.offset), range.length, true);
    }
    PieceFile file = file_of(ranges);
    for (int read = 0; read < 20; ++read) {
      const uint64_t at = random() % kFileSize, length = std::min<uint64_t>(random() % 40, kFileSize - at);
      bool all = true;
      for (uint64_t i = at; i < at + length; ++i) all = all && there[i];
      const auto got = file.ReadAt(static_cast<int64_t>(at), static_cast<int64_t>(length));
      ASSERT_EQ(got.ok(), all) << at << " " << length;
      if (!all) continue;
      ASSERT_EQ((*got)->ToString(), file_bytes().substr(at, length));
    }
  }
}

TEST(PieceFile, MemoryForJoinedPiecesIsAskedForFirst) {
  PieceFile file = file_of({{0, 50}, {50, 50}});
  WorkMemory none(0);
  const Allowance allowance(10, none);
  EXPECT_TRUE(file.ReadAt(0, 50).ok()) << "a view takes nothing";
  const auto joined = file.ReadAt(40, 20);
  ASSERT_FALSE(joined.ok());
  EXPECT_TRUE(joined.status().IsOutOfMemory());
  EXPECT_EQ(allowance.refusal().code(), Code::kOutOfBudget);
}

TEST(SortedApart, GivesTheSameBytesRisingAndWithoutOverlap) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<ByteRange> ranges(random() % 10);
    std::vector<bool> asked(kFileSize, false), given(kFileSize, false);
    for (ByteRange& range : ranges) {
      range.offset = random() % 60;
      range.length = random() % 40;
      std::fill_n(asked.begin() + static_cast<ptrdiff_t>(range.offset), range.length, true);
    }
    uint64_t end = 0;
    for (const ByteRange& range : disjoint_ranges(ranges)) {
      ASSERT_GE(range.offset, end);
      ASSERT_GT(range.length, 0u);
      end = range.offset + range.length;
      std::fill_n(given.begin() + static_cast<ptrdiff_t>(range.offset), range.length, true);
    }
    ASSERT_EQ(given, asked);
  }
}

TEST(SortedApart, WhatOnlyTouchesStaysApart) {
  EXPECT_EQ(disjoint_ranges({{10, 5}, {0, 10}}), (std::vector<ByteRange>{{0, 10}, {10, 5}}));
  EXPECT_EQ(disjoint_ranges({{10, 5}, {0, 11}}), (std::vector<ByteRange>{{0, 15}}));
}

}  // namespace
}  // namespace forebay
