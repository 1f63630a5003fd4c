// Tests how nulls are read at every level.
#include <cmath>

#include "arrow_codec/codecs.h"
#include "arrow_codec/made_tables.h"
#include "arrow_codec/table_test_support.h"
#include "forebay/string_list.h"

namespace forebay {
namespace {

using namespace arrow_codec_test;
using arrow::field;

Result<Columns> through_parquet(const NamedArrays& columns, const NullPolicy& nulls) {
  const std::string file = as_parquet(*table_of(columns));
  FOREBAY_ASSIGN(const auto table, open_table(arrow_codecs().parquet(), file, nulls));
  return decode_group(*table, file, 0);
}

template <typename T>
std::vector<T> values(const Columns& columns, const std::string& name) {
  const ColumnValues& column = columns.values[columns.schema.find(name).value()];
  const auto* begin = reinterpret_cast<const T*>(column.values.data());
  return std::vector<T>(begin, begin + column.values.size() / sizeof(T));
}

std::vector<std::vector<std::string>> strings(const Columns& columns, const std::string& name) {
  std::vector<std::vector<std::string>> rows;
  for (int64_t row = 0; row < columns.rows; ++row) {
    const Value value = std::move(columns.row(row)[columns.schema.find(name).value()]);
    const StringList list(value.bytes.span());
    rows.emplace_back();
    for (size_t i = 0; i < list.size(); ++i) rows.back().emplace_back(list.text(i));
  }
  return rows;
}

std::vector<int64_t> bad(const Columns& columns) {
  std::vector<int64_t> rows;
  if (columns.bad_rows) {
    for (const auto& [row, status] : *columns.bad_rows) rows.push_back(row);
  }
  return rows;
}

TEST(Nulls, AreErrorsOfTheirRowsUnlessSomethingElseIsSaid) {
  const auto columns = through_parquet({{"price", from_json(arrow::float32(), "[1, null, 3, null]")}}, {});
  ASSERT_TRUE(columns.ok()) << columns.status().to_string();
  EXPECT_EQ(bad(*columns), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(columns->bad_rows->at(1).message(), "the column 'price' is null here; give null= a value, or fb.NULL_MASK");
}

TEST(Nulls, InsideOfListsAndStructsCountAsWell) {
  const auto point = arrow::struct_({field("x", arrow::int32())});
  const auto columns =
      through_parquet({{"l", from_json(arrow::list(arrow::int32()), "[[1], [2, null], [], null, [3], [4]]")},
                       {"p", from_json(point, R"([{"x": 1}, {"x": 1}, {"x": 1}, {"x": 1}, null, {"x": null}])")}},
                      {});
  ASSERT_TRUE(columns.ok()) << columns.status().to_string();
  EXPECT_EQ(bad(*columns), (std::vector<int64_t>{1, 3, 4, 5}));
  EXPECT_NE(columns->bad_rows->at(5).message().find("'p.x'"), std::string::npos);
}

TEST(Nulls, GetTheValueThatWasGivenInTheTypeOfTheColumn) {
  const auto columns =
      through_parquet({{"i", from_json(arrow::int16(), "[1, null]")},
                       {"h", from_json(arrow::float16(), "[1, null]")},
                       {"l", from_json(arrow::list(arrow::float64()), "[[1, null], null]")},
                       {"v", from_json(arrow::fixed_size_list(arrow::uint8(), 2), "[[1, null], null]")}},
                      null_value(int64_t{7}));
  ASSERT_TRUE(columns.ok()) << columns.status().to_string();
  EXPECT_EQ(bad(*columns), std::vector<int64_t>());
  EXPECT_EQ(values<int16_t>(*columns, "i"), (std::vector<int16_t>{1, 7}));
  EXPECT_EQ(values<uint16_t>(*columns, "h"), (std::vector<uint16_t>{0x3c00, 0x4700}));
  EXPECT_EQ(values<double>(*columns, "l"), (std::vector<double>{1, 7})) << "a null list is empty";
  EXPECT_EQ(values<uint8_t>(*columns, "v"), (std::vector<uint8_t>{1, 7, 7, 7}));
}

TEST(Nulls, MayBecomeNaNOnlyWhereThatWasAskedFor) {
  const auto columns = through_parquet({{"f", from_json(arrow::float32(), "[1, null]")}}, null_value(std::nan("")));
  ASSERT_TRUE(columns.ok()) << columns.status().to_string();
  EXPECT_TRUE(std::isnan(values<float>(*columns, "f")[1]));
}

TEST(Nulls, OfAnotherKindThanTheGeneralValueStayErrors) {
  const auto columns = through_parquet(
      {{"t", from_json(arrow::utf8(), R"(["a", null, "c"])")}, {"i", from_json(arrow::int32(), "[null, 2, 3]")}},
      null_value(int64_t{0}));
  ASSERT_TRUE(columns.ok()) << columns.status().to_string();
  EXPECT_EQ(bad(*columns), (std::vector<int64_t>{1}));
}

TEST(Nulls, OfAColumnGetTheColumnsOwnValueFirst) {
  NullPolicy nulls = null_value(int64_t{0});
  nulls.by_column = {{"t", std::string("none")}, {"s", std::string("many")}, {"i", int64_t{-1}}};
  const auto columns = through_parquet({{"t", from_json(arrow::utf8(), R"(["a", null])")},
                                        {"s", from_json(arrow::list(arrow::utf8()), R"([["b", null], null])")},
                                        {"i", from_json(arrow::int32(), "[null, 2]")},
                                        {"j", from_json(arrow::int32(), "[null, 2]")}},
                                       nulls);
  ASSERT_TRUE(columns.ok()) << columns.status().to_string();
  EXPECT_EQ(bad(*columns), std::vector<int64_t>());
  EXPECT_EQ(values<char>(*columns, "t"), (std::vector<char>{'a', 'n', 'o', 'n', 'e'}));
  EXPECT_EQ(strings(*columns, "s"), (std::vector<std::vector<std::string>>{{"b", "many"}, {}}));
  EXPECT_EQ(values<int32_t>(*columns, "i"), (std::vector<int32_t>{-1, 2}));
  EXPECT_EQ(values<int32_t>(*columns, "j"), (std::vector<int32_t>{0, 2}));
}

void expect_field_refused(const std::shared_ptr<arrow::DataType>& type, const std::string& json,
                          const NullPolicy& nulls, const std::string& says) {
  const auto good = from_json(arrow::float64(), "[null]");
  const auto opened = open_table(arrow_codecs().parquet(),
                                 as_parquet(*table_of({{"c", from_json(type, json)}, {"good", good}})), nulls);
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  EXPECT_EQ((*opened)->field_status(0).code(), Code::kInvalidArgument);
  EXPECT_NE((*opened)->field_status(0).message().find(says), std::string::npos);
  EXPECT_TRUE((*opened)->field_status(1).ok());
}

TEST(Nulls, ThatAColumnCannotHoldKeepOnlyThatColumnFromBeingRead) {
  expect_field_refused(arrow::uint8(), "[1]", null_value(int64_t{-1}),
                       "null=-1: the value does not fit the column 'c', which is uint8");
  expect_field_refused(arrow::int8(), "[1]", null_value(int64_t{128}), "null=128");
  expect_field_refused(arrow::int32(), "[1]", null_value(0.5), "null=0.5");
  expect_field_refused(arrow::boolean(), "[true]", null_value(int64_t{2}), "null=2");
  expect_field_refused(arrow::float32(), "[1]", null_value(1e300), "does not fit");
}

TEST(Nulls, OfOneColumnThatItCannotHoldKeepItFromBeingRead) {
  NullPolicy own = null_value(int64_t{0});
  own.by_column = {{"c", std::string("text")}};
  expect_field_refused(arrow::int32(), "[1]", own, "another kind");
}

TEST(Nulls, OfAStructAreThoseOfItsMembers) {
  const auto type = arrow::struct_({arrow::field("n", arrow::int32()), arrow::field("t", arrow::utf8()),
                                    arrow::field("in", arrow::struct_({arrow::field("f", arrow::float32())}))});
  const NamedArrays table = {{"s", from_json(type, R"([{"n": 1, "t": "a", "in": {"f": 0.5}}, null])")},
                             {"s.n", from_json(arrow::int32(), "[1, 2]")}};
  const NamedArrays one = {table[0], {"s2", from_json(arrow::int32(), "[1, null]")}};
  NullPolicy own;
  own.kind = NullPolicy::Kind::kValue;
  own.by_column = {{"s", int64_t{7}}, {"s.t", std::string("none")}};
  const auto filled = through_parquet(one, own);
  ASSERT_TRUE(filled.ok()) << filled.status().to_string();
  EXPECT_EQ(values<int32_t>(*filled, "s.n"), (std::vector<int32_t>{1, 7}));
  EXPECT_EQ(values<float>(*filled, "s.in.f"), (std::vector<float>{0.5F, 7}));
  ASSERT_TRUE(filled->bad_rows) << "no value was given for s2, which is only called like the struct";
  NullPolicy masked;
  masked.masked = {"s.in"};
  const auto columns = through_parquet(one, masked);
  ASSERT_TRUE(columns.ok()) << columns.status().to_string();
  EXPECT_EQ(columns->schema.names(), "s.n, s.t, s.in.f, s.in.f_valid, s2");
}

TEST(Nulls, AreZeroUnderAMaskAndTheMaskSaysWhichTheyAre) {
  const auto columns = through_parquet({{"i", from_json(arrow::int32(), "[1, null, 3]")},
                                        {"l", from_json(arrow::list(arrow::int32()), "[[1, null], null, []]")},
                                        {"t", from_json(arrow::list(arrow::utf8()), R"([["a", null], null, []])")}},
                                       mask_nulls());
  ASSERT_TRUE(columns.ok()) << columns.status().to_string();
  EXPECT_EQ(columns->schema.names(), "i, i_valid, l, l_valid, l_items_valid, t, t_valid, t_items_valid");
  EXPECT_EQ(values<int32_t>(*columns, "i"), (std::vector<int32_t>{1, 0, 3}));
  EXPECT_EQ(values<uint8_t>(*columns, "i_valid"), (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(values<uint8_t>(*columns, "l_valid"), (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(values<uint8_t>(*columns, "l_items_valid"), (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(strings(*columns, "t"), (std::vector<std::vector<std::string>>{{"a", ""}, {}, {}}));
  EXPECT_EQ(values<uint8_t>(*columns, "t_items_valid"), (std::vector<uint8_t>{1, 0}));
}

TEST(Nulls, HaveAMaskThatIsKnownFromColumnsOfThatName) {
  const auto number = from_json(arrow::int32(), "[1]");
  const auto open = [](const NamedArrays& columns, const NullPolicy& nulls) {
    return open_table(arrow_codecs().parquet(), as_parquet(*table_of(columns)), nulls);
  };
  const auto masked = open({{"i", number}}, mask_nulls());
  ASSERT_TRUE(masked.ok()) << masked.status().to_string();
  EXPECT_FALSE((*masked)->is_mask(0));
  EXPECT_TRUE((*masked)->is_mask(1));

  const NamedArrays both = {{"i_valid", from_json(arrow::boolean(), "[false]")}, {"i", number}};
  const auto plain = open(both, {});
  ASSERT_TRUE(plain.ok()) << plain.status().to_string();
  EXPECT_FALSE((*plain)->is_mask(0));
  const auto refused = open(both, mask_nulls());
  EXPECT_EQ(refused.status().code(), Code::kUnsupported);
  EXPECT_NE(refused.status().message().find("'i_valid' is a column of the table"), std::string::npos);
  EXPECT_NE(refused.status().message().find("where 'i' is null; rename the column"), std::string::npos);

  NullPolicy named = mask_nulls();
  named.mask_ending = "?";
  const auto beside = open(both, named);
  ASSERT_TRUE(beside.ok()) << beside.status().to_string();
  EXPECT_EQ((*beside)->schema().names(), "i_valid, i_valid?, i, i?");
  EXPECT_TRUE((*beside)->is_mask(1));
  EXPECT_FALSE((*beside)->is_mask(0));
}

}  // namespace
}  // namespace forebay
