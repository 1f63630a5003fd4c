// Tests broken files, from fuzzers and made here: they give an error or the values, never a crash,
// and take no memory beyond the grant.
#include <random>

#include "arrow_codec/codecs.h"
#include "arrow_codec/made_tables.h"
#include "arrow_codec/recycling_pool.h"
#include "arrow_codec/table_test_support.h"

namespace forebay {
namespace {

using namespace arrow_codec_test;

constexpr uint64_t kGrant = uint64_t{64} << 20;

/// Reads a file as an engine with a small budget does. Returns whether all of it could be read.
bool read_all(const TableCodec& codec, const std::string& file) {
  const int64_t before = RecyclingPool::instance().bytes_allocated();
  const auto table = open_table(codec, file, mask_nulls());
  if (!table.ok()) {
    EXPECT_FALSE(table.status().message().empty());
    return false;
  }
  bool all = true;
  for (int64_t group = 0; group < (*table)->groups(); ++group) {
    const auto fields = all_fields(**table);
    const ChunkCost cost = (*table)->cost(group, fields);
    EXPECT_LE(cost.fetched_bytes, file.size() + 100 * fields.size());
    if (cost.decoded_bytes > kGrant) {  // the engine returns OutOfBudget before it reads
      all = false;
      continue;
    }
    WorkMemory memory(kGrant);
    const auto columns = decode_group(**table, file, group, fields, memory);
    if (!columns.ok()) {
      EXPECT_NE(columns.status().code(), Code::kInternal) << columns.status().to_string();
      EXPECT_FALSE(columns.status().message().empty());
      all = false;
      continue;
    }
    EXPECT_TRUE(columns->check().ok()) << columns->check().to_string();
  }
  EXPECT_EQ(RecyclingPool::instance().bytes_allocated(), before) << "memory is kept after a broken file";
  return all;
}

TEST(ForeignBytes, FilesThatFuzzersFoundGiveErrorsOrValues) {
  FOREBAY_NEED_SHARED_DATA();
  int broken = 0;
  for (const char* folder : {"malformed/parquet", "malformed/parquet-fuzz"}) {
    for (const auto& path : files_below(folder)) {
      SCOPED_TRACE(path.filename().string());
      if (!read_all(arrow_codecs().parquet(), read_file(path))) ++broken;
    }
  }
  EXPECT_GT(broken, 20);
}

void damage_everywhere(const TableCodec& codec, const std::string& file, uint32_t seed) {
  std::mt19937 random(seed);
  for (size_t length = 0; length < file.size(); length += 1 + file.size() / 97) read_all(codec, file.substr(0, length));
  for (int i = 0; i < 400; ++i) {
    std::string damaged = file;
    const int flips = 1 + static_cast<int>(random() % 4);
    for (int flip = 0; flip < flips; ++flip) {
      // Half of the damage goes to the index at the end, which holds sizes and offsets.
      const size_t from = random() % 2 == 0 ? 0 : file.size() - std::min<size_t>(file.size(), 1000);
      const size_t at = from + random() % (file.size() - from);
      damaged[at] = static_cast<char>(random() % 3 == 0 ? 0xff : damaged[at] ^ (1 << random() % 8));
    }
    SCOPED_TRACE(i);
    read_all(codec, damaged);
    if (::testing::Test::HasFailure()) return;
  }
}

std::shared_ptr<arrow::Table> varied_table() {
  const auto point =
      arrow::struct_({arrow::field("x", arrow::float32()), arrow::field("y", arrow::list(arrow::int16()))});
  return table_of({
      {"i", from_json(arrow::int64(), "[1, null, 3, 4, 5, 6]")},
      {"t", from_json(arrow::utf8(), R"(["a", "bcd", null, "", "e", "a longer text for views"])")},
      {"v", from_json(arrow::fixed_size_list(arrow::int32(), 2), "[[1, 2], null, [3, 4], [5, 6], [7, 8], [9, 10]]")},
      {"l",
       from_json(arrow::list(arrow::list(arrow::float64())), "[[[1, 2], [3]], null, [], [[4]], [[], [5]], [[6]]]")},
      {"p", from_json(arrow::list(point), R"([[{"x": 1, "y": [1, 2]}], [], null, [{"x": 2, "y": []}], [null], []])")},
      {"s", from_json(arrow::list(arrow::utf8()), R"([["a"], [], null, ["b", null], ["c"], []])")},
      {"b", from_json(arrow::boolean(), "[true, false, null, true, false, true]")},
  });
}

TEST(ForeignBytes, DamageAnywhereInAParquetFileIsToldOrHarmless) {
  damage_everywhere(arrow_codecs().parquet(), as_parquet(*varied_table(), 3), 1);
  damage_everywhere(arrow_codecs().parquet(), as_parquet(*varied_table(), 6, arrow::Compression::UNCOMPRESSED), 2);
}

TEST(ForeignBytes, DamageAnywhereInAnArrowFileIsToldOrHarmless) {
  const auto words = arrow::json::DictArrayFromJSONString(arrow::dictionary(arrow::int32(), arrow::utf8()),
                                                          "[1, 0, null, 1, 1, 0]", R"(["a", "bcd"])")
                         .ValueOrDie();
  auto table = varied_table();
  table =
      table->AddColumn(0, arrow::field("d", words->type()), std::make_shared<arrow::ChunkedArray>(words)).ValueOrDie();
  const auto views =
      from_json(arrow::utf8_view(),
                R"(["a", null, "a longer text that is not inline", "", "another text that is not inline", "b"])");
  table =
      table->AddColumn(1, arrow::field("w", views->type()), std::make_shared<arrow::ChunkedArray>(views)).ValueOrDie();
  const auto ranges = from_json(arrow::list_view(arrow::int64()), "[[1, 2], null, [], [3], [4, 5, 6], []]");
  table = table->AddColumn(2, arrow::field("r", ranges->type()), std::make_shared<arrow::ChunkedArray>(ranges))
              .ValueOrDie();
  damage_everywhere(arrow_codecs().arrow_file(), as_arrow_file(*table, 3), 3);
  damage_everywhere(arrow_codecs().arrow_file(), as_arrow_file(*table, 6, arrow::Compression::ZSTD), 4);
}

TEST(ForeignBytes, MoreMemoryThanThePlanSaidIsAskedForBeforeItIsTaken) {
  // A dictionary of one long text is stored once and decoded a thousand times. No statistics of
  // sizes announce it.
  arrow::StringBuilder builder;
  const std::string text(50'000, 'x');
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(builder.Append(text).ok());
  const std::string file = as_parquet(*table_of({{"t", builder.Finish().ValueOrDie()}}));
  const auto table = open_table(arrow_codecs().parquet(), file);
  ASSERT_TRUE(table.ok());
  const std::vector<size_t> fields = {0};
  WorkMemory little(1 << 20);
  const auto refused = decode_group(**table, file, 0, fields, little);
  const uint64_t told = (*table)->cost(0, fields).decoded_bytes;
  if (told < 50'000'000) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), Code::kOutOfBudget);
    EXPECT_GT(refused.status().bytes_needed(), uint64_t{1} << 20);
  }
  WorkMemory enough(uint64_t{256} << 20);
  const auto columns = decode_group(**table, file, 0, fields, enough);
  ASSERT_TRUE(columns.ok()) << columns.status().to_string();
  EXPECT_EQ(columns->values[0].values.size(), 50'000'000u);
}

TEST(ForeignBytes, WhatIsNoTableIsSaidToBeNone) {
  for (const TableCodec* codec : {&arrow_codecs().parquet(), &arrow_codecs().arrow_file()}) {
    for (const std::string& text :
         {std::string(), std::string("x"), std::string(1000, '\0'), std::string("a,b\n1,2\n3,4\n5,6\n7,8\n")}) {
      const auto opened = open_table(*codec, text);
      ASSERT_FALSE(opened.ok());
      EXPECT_EQ(opened.status().code(), Code::kCorrupt) << opened.status().to_string();
    }
  }
}

}  // namespace
}  // namespace forebay
