// Tests every mapped type through Parquet, Arrow files and Arrow streams: the values read equal
// those written.
#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>
#include <arrow/extension/uuid.h>

#include "arrow_codec/codecs.h"
#include "arrow_codec/expected_cells.h"
#include "arrow_codec/made_tables.h"
#include "arrow_codec/table_test_support.h"

namespace forebay {
namespace {

using namespace arrow_codec_test;
using arrow::field;

struct TypeCase {
  std::string name;
  std::shared_ptr<arrow::DataType> type;
  std::string json;     ///< seven rows
  bool parquet = true;  ///< Parquet has such a type; otherwise it stores another
};

std::vector<TypeCase> flat_cases() {
  std::vector<TypeCase> cases;
  for (const auto& type : {arrow::int8(), arrow::int16(), arrow::int32(), arrow::int64(), arrow::float16(),
                           arrow::float32(), arrow::float64()})
    cases.push_back({type->ToString(), type, "[1, null, -3, 0, 100, null, 7]"});
  for (const auto& type : {arrow::uint8(), arrow::uint16(), arrow::uint32(), arrow::uint64(), arrow::date32()})
    cases.push_back({type->ToString(), type, "[1, null, 3, 0, 200, null, 7]"});
  cases.push_back({"bool", arrow::boolean(), "[true, false, null, true, true, null, false]"});
  cases.push_back({"date64", arrow::date64(), "[86400000, null, 0, -86400000, 172800000, null, 0]", false});
  for (const auto unit : {arrow::TimeUnit::MILLI, arrow::TimeUnit::MICRO, arrow::TimeUnit::NANO}) {
    for (const auto& type : {arrow::timestamp(unit), arrow::timestamp(unit, "UTC"), arrow::duration(unit)})
      cases.push_back({type->ToString(), type, "[1, null, -3, 0, 1700000000000, null, 7]"});
  }
  cases.push_back({"timestamp_s", arrow::timestamp(arrow::TimeUnit::SECOND), "[1, null, -3, 0, 170, null, 7]", false});
  cases.push_back({"time32", arrow::time32(arrow::TimeUnit::MILLI), "[1, null, 3, 0, 170, null, 7]"});
  cases.push_back({"time64", arrow::time64(arrow::TimeUnit::MICRO), "[1, null, 3, 0, 170, null, 7]"});
  const std::string decimals = R"(["1.10", null, "-3.25", "0.00", "123.45", null, "7.01"])";
  cases.push_back({"decimal32", arrow::decimal32(7, 2), decimals});
  cases.push_back({"decimal64", arrow::decimal64(15, 2), decimals});
  cases.push_back({"decimal128", arrow::decimal128(30, 2), decimals});
  cases.push_back({"decimal256", arrow::decimal256(60, 2), decimals});
  // All digits that float64 distinguishes; longer values are errors
  // (tests/python/test_table_types.py).
  cases.push_back({"long_decimal", arrow::decimal256(60, 10),
                   R"(["12345.0123456789", null, "-0.0000000001", "0.0000000000",
                       "98765432.5000000000", null, "7.0100000000"])"});
  const std::string texts = R"(["one", null, "", "a longer text that no view holds inline", "ünïcödé", null, "x"])";
  for (const auto& type : {arrow::utf8(), arrow::large_utf8(), arrow::utf8_view(), arrow::binary(),
                           arrow::large_binary(), arrow::binary_view()})
    cases.push_back({type->ToString(), type, texts});
  cases.push_back(
      {"fixed_binary", arrow::fixed_size_binary(3), R"(["one", null, "abc", "\u0000\u0001x", "xyz", null, "   "])"});
  cases.push_back({"nothing", arrow::null(), "[null, null, null, null, null, null, null]"});
  return cases;
}

std::vector<TypeCase> nested_cases() {
  const auto numbers = "[[1, 2], null, [], [3, null], [4], [null], [5, 6, 7]]";
  const auto point = arrow::struct_({field("x", arrow::float32()), field("y", arrow::list(arrow::int16()))});
  const auto deep = "[[[1, 2], []], null, [], [null, [3]], [[4, null]], [[]], [[5], [6], [7, 8]]]";
  const auto texts = R"([["a", "bc"], null, [], ["", null], ["d"], [null], ["efg", "h"]])";
  return {
      {"list", arrow::list(arrow::int32()), numbers},
      {"large_list", arrow::large_list(arrow::float64()), numbers},
      {"list_view", arrow::list_view(arrow::int64()), numbers, false},
      {"large_list_view", arrow::large_list_view(arrow::int8()), numbers, false},
      {"bools", arrow::list(arrow::boolean()),
       "[[true], null, [], [false, null], [true], [null], [true, true, false]]"},
      {"lists", arrow::list(arrow::list(arrow::int32())), deep},
      {"deeper", arrow::list(arrow::list(arrow::list(arrow::int32()))),
       "[[[[1], [2, 3]], []], null, [], [null, [null]], [[[4, null]]], [[]], [[[5]], [[6], [7, 8]]]]"},
      {"texts", arrow::list(arrow::utf8()), texts},
      {"large_texts", arrow::large_list(arrow::large_utf8()), texts},
      {"viewed_texts", arrow::list(arrow::utf8_view()), texts},
      {"text_lists", arrow::list(arrow::list(arrow::utf8())),
       R"([[["a"], []], null, [], [null, ["b", null]], [["cd", ""]], [[]], [["e"]]])"},
      {"vector", arrow::fixed_size_list(arrow::float32(), 2),
       "[[1, 2], null, [3, 4], [5, null], [7, 8], null, [9, 10]]"},
      {"matrix", arrow::fixed_size_list(arrow::fixed_size_list(arrow::int16(), 2), 2),
       "[[[1, 2], [3, 4]], null, [[5, 6], null], [[7, null], [9, 10]], [[1, 1], [2, 2]], null, [[0, 0], [0, 1]]]"},
      {"vectors", arrow::list(arrow::fixed_size_list(arrow::int32(), 2)),
       "[[[1, 2]], null, [], [[3, 4], null], [[5, null]], [], [[6, 7]]]"},
      {"names", arrow::fixed_size_list(arrow::utf8(), 2),
       R"([["a", "b"], null, ["c", null], ["", ""], ["d", "e"], null, ["f", "gh"]])"},
      {"point", point,
       R"([{"x": 1, "y": [1]}, null, {"x": null, "y": []}, {"x": 2, "y": null}, {"x": 3, "y": [null, 2]}, null, {"x": 4, "y": [5, 6]}])"},
      {"points", arrow::list(point),
       R"([[{"x": 1, "y": [1]}], null, [], [null, {"x": null, "y": null}], [{"x": 2, "y": []}], [], [{"x": 3, "y": [3, null]}]])"},
      {"corners", arrow::fixed_size_list(arrow::struct_({field("a", arrow::int32())}), 2),
       R"([[{"a": 1}, {"a": 2}], null, [null, {"a": 3}], [{"a": null}, {"a": 4}], [{"a": 5}, {"a": 6}], null, [{"a": 7}, {"a": 8}]])"},
      {"map", arrow::map(arrow::utf8(), arrow::int32()),
       R"([[["a", 1]], null, [], [["b", null], ["c", 3]], [["", 4]], [], [["de", 5]]])"},
      {"map_of_lists", arrow::map(arrow::int64(), arrow::list(arrow::float32())),
       "[[[1, [1]]], null, [], [[2, null], [3, []]], [[4, [null]]], [], [[5, [2, 3]]]]"},
  };
}

std::vector<TypeCase> all_cases() {
  auto cases = flat_cases();
  for (auto& one : nested_cases()) cases.push_back(std::move(one));
  return cases;
}

std::shared_ptr<arrow::Table> table_of_case(const TypeCase& one) {
  return table_of({{one.name, from_json(one.type, one.json)}});
}

TEST(TableTypes, ParquetGivesWhatWasWritten) {
  for (const TypeCase& one : all_cases()) {
    if (!one.parquet) continue;
    SCOPED_TRACE(one.name);
    const auto expected = table_of_case(one);
    for (const int64_t rows : {1, 3, 100})
      expect_file(arrow_codecs().parquet(), as_parquet(*expected, rows), *expected);
  }
}

TEST(TableTypes, ArrowFilesGiveWhatWasWritten) {
  for (const TypeCase& one : all_cases()) {
    SCOPED_TRACE(one.name);
    const auto expected = table_of_case(one);
    for (const auto compression :
         {arrow::Compression::UNCOMPRESSED, arrow::Compression::LZ4_FRAME, arrow::Compression::ZSTD}) {
      for (const int64_t rows : {2, 100})
        expect_file(arrow_codecs().arrow_file(), as_arrow_file(*expected, rows, compression), *expected);
    }
  }
}

Result<std::shared_ptr<const TableFile>> stream_of(const std::shared_ptr<arrow::Table>& table,
                                                   const NullPolicy& nulls) {
  ArrowArrayStream stream;
  const auto reader = std::make_shared<arrow::TableBatchReader>(table);
  EXPECT_TRUE(arrow::ExportRecordBatchReader(reader, &stream).ok());
  auto taken = arrow_codecs().take_stream(&stream, nulls);
  EXPECT_EQ(stream.release, nullptr) << "the stream was not taken over";
  return taken;
}

TEST(TableTypes, StreamsGiveWhatWasSentAlsoFromTheMiddleOfArrays) {
  for (const TypeCase& one : all_cases()) {
    SCOPED_TRACE(one.name);
    for (const int64_t from : {0, 1, 3}) {
      const auto expected = table_of_case(one)->Slice(from, 4);
      const auto table = stream_of(expected, mask_nulls());
      ASSERT_TRUE(table.ok()) << table.status().to_string();
      ASSERT_EQ((*table)->groups(), 1);
      const auto columns = decode_group(**table, "", 0);
      ASSERT_TRUE(columns.ok()) << columns.status().to_string();
      expect_table(*columns, *plan_table(*expected->schema(), mask_nulls()), *expected, 0);
    }
  }
}

// The ends of the strings as a whole are correct. The row's own offsets are so far apart that their
// difference overflows int64.
TEST(TableTypes, OffsetsThatLeapOutOfAStreamsStringsAreCorrupt) {
  const auto offsets = arrow::Buffer::FromVector(std::vector<int64_t>{0, 1, INT64_MIN, 5});
  const auto strings = std::make_shared<arrow::LargeStringArray>(3, offsets, arrow::Buffer::FromString("abcde"));
  const auto rows = arrow::Buffer::FromVector(std::vector<int32_t>{1, 2});
  const auto lists = std::make_shared<arrow::ListArray>(arrow::list(arrow::large_utf8()), 1, rows, strings);
  const auto table = stream_of(table_of({{"words", lists}}), mask_nulls());
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  EXPECT_EQ(decode_group(**table, "", 0).status().code(), Code::kCorrupt);
}

TEST(TableTypes, DictionariesGiveTheirValues) {
  const auto numbers = arrow::json::DictArrayFromJSONString(arrow::dictionary(arrow::int8(), arrow::float32()),
                                                            "[0, 2, null, 1, 2]", "[1.5, null, 2.5]")
                           .ValueOrDie();
  const auto words = arrow::json::DictArrayFromJSONString(arrow::dictionary(arrow::int32(), arrow::utf8()),
                                                          "[1, 0, null, 1, 1]", R"(["a", "bcd"])")
                         .ValueOrDie();
  const auto expected = table_of({{"numbers", numbers}, {"words", words}});
  expect_file(arrow_codecs().arrow_file(), as_arrow_file(*expected, 2), *expected);
  const auto taken = stream_of(expected, mask_nulls());
  ASSERT_TRUE(taken.ok()) << taken.status().to_string();
  expect_table(*decode_group(**taken, "", 0), *plan_table(*expected->schema(), mask_nulls()), *expected, 0);
  const auto only_words = table_of({{"words", words}});
  expect_file(arrow_codecs().parquet(), as_parquet(*only_words), *only_words);
}

TEST(TableTypes, WhatHasNoPlaceInABatchIsNamedWithItsReason) {
  const auto both = arrow::dense_union({field("i", arrow::int32()), field("f", arrow::float32())});
  const auto expected = table_of({{"fine", from_json(arrow::int32(), "[1, 2]")},
                                  {"either", from_json(both, "[[0, 1], [1, 2.5]]")},
                                  {"also", from_json(arrow::utf8(), R"(["a", "b"])")}});
  const auto file = as_arrow_file(*expected);
  const auto table = open_table(arrow_codecs().arrow_file(), file);
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  EXPECT_EQ((*table)->schema().names(), "fine, also");
  ASSERT_EQ((*table)->unmapped().size(), 1u);
  EXPECT_EQ((*table)->unmapped()[0].first, "either");
  EXPECT_NE((*table)->unmapped()[0].second.find("union"), std::string::npos);
  const auto columns = decode_group(**table, file, 0);
  ASSERT_TRUE(columns.ok()) << columns.status().to_string();
  EXPECT_EQ(columns->row(1)[1].bytes.span()[0], 'b');
}

TEST(TableTypes, TwoColumnsThatComeToOneNameAreRefusedByName) {
  const auto table = table_of({{"a.b", from_json(arrow::int32(), "[1]")}, {"a.b", from_json(arrow::int32(), "[2]")}});
  const auto opened = open_table(arrow_codecs().parquet(), as_parquet(*table));
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), Code::kUnsupported);
  EXPECT_NE(opened.status().message().find("'a.b'"), std::string::npos);
}

TEST(TableTypes, ColumnsThatCannotBeNullHaveNoFieldForIt) {
  const auto table = table_of({{"x", from_json(arrow::int32(), "[1, 2]")}}, false);
  const auto opened = open_table(arrow_codecs().parquet(), as_parquet(*table), mask_nulls());
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ((*opened)->schema().names(), "x");
}

TEST(TableTypes, LargeBatchesOfAStreamAreCutWithoutACopy) {
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < 200'000; ++i) ASSERT_TRUE(builder.Append(i).ok());
  const auto array = builder.Finish().ValueOrDie();
  const auto table = stream_of(table_of({{"x", array}}), {});
  ASSERT_TRUE(table.ok());
  ASSERT_GT((*table)->groups(), 2);
  int64_t next = 0;
  for (int64_t group = 0; group < (*table)->groups(); ++group) {
    const auto columns = decode_group(**table, "", group);
    ASSERT_TRUE(columns.ok());
    const auto* values = reinterpret_cast<const int64_t*>(columns->values[0].values.data());
    EXPECT_EQ(values, reinterpret_cast<const int64_t*>(array->data()->buffers[1]->data()) + next);
    for (int64_t row = 0; row < columns->rows; ++row) ASSERT_EQ(values[row], next++);
  }
  EXPECT_EQ(next, 200'000);
}

TEST(TableTypes, AReleasedStreamIsRefused) {
  ArrowArrayStream stream{};
  EXPECT_FALSE(arrow_codecs().take_stream(&stream, {}).ok());
  EXPECT_FALSE(arrow_codecs().take_stream(nullptr, {}).ok());
}

TEST(TableTypes, AnArrowFileIsReadByColumns) {
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < 10'000; ++i) ASSERT_TRUE(builder.Append(i).ok());
  const auto array = builder.Finish().ValueOrDie();
  const auto file = as_arrow_file(*table_of({{"a", array}, {"b", array}, {"c", array}}));
  const auto table = open_table(arrow_codecs().arrow_file(), file);
  ASSERT_TRUE(table.ok());
  const std::vector<size_t> middle = {1};
  EXPECT_LT((*table)->cost(0, middle).fetched_bytes, 90'000u);
  WorkMemory memory;
  const auto columns = decode_group(**table, file, 0, middle, memory);
  ASSERT_TRUE(columns.ok()) << columns.status().to_string();
  EXPECT_EQ(reinterpret_cast<const int64_t*>(columns->values[0].values.data())[9'999], 9'999);
}

}  // namespace
}  // namespace forebay
