// Tests that statistics of a row group are safe: no value lies outside of the bounds, and unsure
// bounds are absent.
#include <cmath>
#include <limits>
#include <random>

#include "arrow_codec/codecs.h"
#include "arrow_codec/made_tables.h"
#include "arrow_codec/table_test_support.h"

namespace forebay {
namespace {

using namespace arrow_codec_test;
using Bound = FieldBounds::Bound;

/// Bounds of the first row group of a table of one column.
FieldBounds bounds_of(const std::shared_ptr<arrow::Array>& array, const NullPolicy& nulls = {}) {
  const std::string file = as_parquet(*table_of({{"c", array}}));
  const auto table = open_table(arrow_codecs().parquet(), file, nulls);
  EXPECT_TRUE(table.ok()) << table.status().to_string();
  return (*table)->bounds(0, 0);
}

template <typename Builder, typename T>
std::shared_ptr<arrow::Array> array_of(const std::vector<T>& values) {
  Builder builder;
  for (const T& value : values) EXPECT_TRUE(builder.Append(value).ok());
  return builder.Finish().ValueOrDie();
}

bool unknown(const FieldBounds& bounds) {
  return std::holds_alternative<std::monostate>(bounds.min) && std::holds_alternative<std::monostate>(bounds.max);
}

TEST(ParquetBounds, OfSignedIntegersReachFromTheLeastToTheGreatest) {
  const auto check = [](const auto& type, int64_t low, int64_t high) {
    const auto array = from_json(type, "[" + std::to_string(high) + ", 0, " + std::to_string(low) + ", 1]");
    EXPECT_EQ(bounds_of(array).min, Bound(low)) << type->ToString();
    EXPECT_EQ(bounds_of(array).max, Bound(high)) << type->ToString();
  };
  check(arrow::int8(), INT8_MIN, INT8_MAX);
  check(arrow::int16(), INT16_MIN, INT16_MAX);
  check(arrow::int32(), INT32_MIN, INT32_MAX);
  check(arrow::int64(), INT64_MIN, INT64_MAX);
  check(arrow::date32(), -40'000, 40'000);
  check(arrow::time32(arrow::TimeUnit::MILLI), 0, 86'399'999);
  check(arrow::timestamp(arrow::TimeUnit::MICRO), -5, 1'700'000'000'000'000);
}

TEST(ParquetBounds, OfUnsignedIntegersAreUnsignedBeyondTheSignBit) {
  const auto check = [](const auto& array, uint64_t low, uint64_t high) {
    EXPECT_EQ(bounds_of(array).min, Bound(low)) << array->type()->ToString();
    EXPECT_EQ(bounds_of(array).max, Bound(high)) << array->type()->ToString();
  };
  check(array_of<arrow::UInt8Builder, uint8_t>({200, 3, 255}), 3, 255);
  check(array_of<arrow::UInt16Builder, uint16_t>({60'000, 7, 65'535}), 7, 65'535);
  check(array_of<arrow::UInt32Builder, uint32_t>({4'000'000'000, 9, UINT32_MAX}), 9, UINT32_MAX);
  check(array_of<arrow::UInt64Builder, uint64_t>({uint64_t{1} << 63, 11, UINT64_MAX}), 11, UINT64_MAX);
}

TEST(ParquetBounds, OfFloatsLeaveNaNOutAndKeepInfinity) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const FieldBounds some = bounds_of(array_of<arrow::DoubleBuilder, double>({nan, -inf, 2.5, nan}));
  EXPECT_EQ(some.min, Bound(-inf));
  EXPECT_EQ(some.max, Bound(2.5));
  EXPECT_TRUE(unknown(bounds_of(array_of<arrow::DoubleBuilder, double>({nan, nan}))));
  const FieldBounds single = bounds_of(array_of<arrow::FloatBuilder, float>({0.1f, -3e38f}));
  EXPECT_EQ(single.min, Bound(static_cast<double>(-3e38f)));
  EXPECT_EQ(single.max, Bound(static_cast<double>(0.1f))) << "a bound is the float's value, not the decimal's";
}

TEST(ParquetBounds, OfZerosHoldBothZeros) {
  for (const std::vector<double>& zeros : {std::vector{0.0, 0.0}, std::vector{-0.0, -0.0}, std::vector{0.0, -0.0}}) {
    const FieldBounds bounds = bounds_of(array_of<arrow::DoubleBuilder, double>(zeros));
    EXPECT_LE(std::get<double>(bounds.min), 0.0);
    EXPECT_GE(std::get<double>(bounds.max), 0.0);
  }
}

TEST(ParquetBounds, OfTextGoByBytes) {
  const FieldBounds bounds = bounds_of(from_json(arrow::utf8(), R"(["b", "", "a", "é"])"));
  EXPECT_EQ(bounds.min, Bound(std::string()));
  EXPECT_EQ(bounds.max, Bound(std::string("é"))) << "é is C3 A9, behind all of ASCII";
}

TEST(ParquetBounds, OfRandomTextsHoldEveryOneOfThem) {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> texts(1 + random() % 30);
    for (std::string& text : texts) {
      text.resize(random() % 200);
      for (char& c : text) c = static_cast<char>(random() % 256);
    }
    const FieldBounds bounds = bounds_of(array_of<arrow::BinaryBuilder, std::string>(texts));
    if (unknown(bounds)) continue;  // a writer may omit long ones
    for (const std::string& text : texts) {
      EXPECT_LE(std::get<std::string>(bounds.min), text);
      EXPECT_GE(std::get<std::string>(bounds.max), text);
    }
  }
}

TEST(ParquetBounds, OfBooleansAreZeroAndOne) {
  const FieldBounds both = bounds_of(from_json(arrow::boolean(), "[true, false]"));
  EXPECT_EQ(both.min, Bound(int64_t{0}));
  EXPECT_EQ(both.max, Bound(int64_t{1}));
  EXPECT_EQ(bounds_of(from_json(arrow::boolean(), "[true, true]")).min, Bound(int64_t{1}));
}

TEST(ParquetBounds, CountNulls) {
  EXPECT_EQ(bounds_of(from_json(arrow::int32(), "[1, null, 3, null]")).nulls, 2);
  EXPECT_EQ(bounds_of(from_json(arrow::int32(), "[1, 2]")).nulls, 0);
  const FieldBounds all = bounds_of(from_json(arrow::int32(), "[null, null, null]"));
  EXPECT_EQ(all.nulls, 3);
  EXPECT_TRUE(unknown(all));
}

TEST(ParquetBounds, AreUnknownForWhatIsStoredInAnotherFormThanItIsGiven) {
  EXPECT_TRUE(unknown(bounds_of(from_json(arrow::decimal128(10, 2), R"(["1.10", "2.20"])"))));
  EXPECT_TRUE(unknown(bounds_of(from_json(arrow::float16(), "[1, 2]"))));
}

TEST(ParquetBounds, OfDatesCountWhatTheFieldCounts) {
  const std::string file = as_parquet(*table_of({{"c", from_json(arrow::date64(), "[172800000, 86400000]")}}));
  const auto table = open_table(arrow_codecs().parquet(), file);
  const auto columns = decode_group(**table, file, 0);
  ASSERT_TRUE(columns.ok());
  const auto* days = reinterpret_cast<const int64_t*>(columns->values[0].values.data());
  EXPECT_EQ((*table)->bounds(0, 0).max, Bound(days[0])) << "Parquet keeps days, whatever was written";
  EXPECT_EQ((*table)->bounds(0, 0).min, Bound(days[1]));
}

TEST(ParquetBounds, AreUnknownForListsAndTensorsAndForMasks) {
  EXPECT_TRUE(unknown(bounds_of(from_json(arrow::list(arrow::int32()), "[[1], [2, 3]]"))));
  EXPECT_TRUE(unknown(bounds_of(from_json(arrow::list(arrow::utf8()), R"([["a"], ["b"]])"))));
  EXPECT_TRUE(unknown(bounds_of(from_json(arrow::fixed_size_list(arrow::int32(), 2), "[[1, 2], [3, 4]]"))));
  const std::string file = as_parquet(*table_of({{"c", from_json(arrow::int32(), "[5, 6]")}}));
  const auto table = open_table(arrow_codecs().parquet(), file, mask_nulls());
  ASSERT_EQ((*table)->schema()[1].name, "c_valid");
  const FieldBounds mask = (*table)->bounds(0, 1);
  EXPECT_TRUE(unknown(mask)) << "5 to 6 are bounds of the column, not of its mask";
  EXPECT_EQ(mask.nulls, std::nullopt);
}

TEST(ParquetBounds, OfAMemberOfAStructAreItsOwn) {
  const auto point = arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("y", arrow::int32())});
  const std::string file =
      as_parquet(*table_of({{"p", from_json(point, R"([{"x": 1, "y": 20}, {"x": 2, "y": 10}])")}}));
  const auto table = open_table(arrow_codecs().parquet(), file);
  EXPECT_EQ((*table)->bounds(0, (*table)->schema().find("p.y").value()).min, Bound(int64_t{10}));
  EXPECT_EQ((*table)->bounds(0, (*table)->schema().find("p.x").value()).max, Bound(int64_t{2}));
}

TEST(ParquetBounds, AreThoseOfTheGroupThatWasAskedFor) {
  const std::string file = as_parquet(*table_of({{"c", from_json(arrow::int64(), "[1, 2, 30, 40, 500]")}}), 2);
  const auto table = open_table(arrow_codecs().parquet(), file);
  ASSERT_EQ((*table)->groups(), 3);
  EXPECT_EQ((*table)->bounds(0, 0).max, Bound(int64_t{2}));
  EXPECT_EQ((*table)->bounds(1, 0).min, Bound(int64_t{30}));
  EXPECT_EQ((*table)->bounds(2, 0).min, Bound(int64_t{500}));
}

TEST(ParquetBounds, AreNothingWhereTheWriterKeptNoStatistics) {
  auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto table = table_of({{"c", from_json(arrow::int32(), "[1, null]")}});
  const auto properties = parquet::WriterProperties::Builder().disable_statistics()->build();
  ASSERT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, 10, properties).ok());
  const std::string file = bytes_of_stream(*out);
  const FieldBounds bounds = (*open_table(arrow_codecs().parquet(), file))->bounds(0, 0);
  EXPECT_TRUE(unknown(bounds));
  EXPECT_EQ(bounds.nulls, std::nullopt) << "not known is not none";
}

}  // namespace
}  // namespace forebay
