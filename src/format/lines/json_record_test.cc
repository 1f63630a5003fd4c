#include "format/lines/json_record.h"

#include <cstring>

#include <gtest/gtest.h>

#include "forebay/string_list.h"

namespace forebay {
namespace {

std::span<const uint8_t> bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// Parses records into columns of these fields.
struct Reader {
  explicit Reader(std::vector<JsonField> fields) : names(JsonNames::of(fields).value()) {
    for (const JsonField& field : fields) columns.emplace_back(field);
  }
  Status read(std::string_view line) {
    const Status status = read_json_record(bytes(line), names, columns, rows);
    rows += status.ok() ? 1 : 0;
    return status;
  }
  std::vector<std::string> texts(size_t column) {
    const ColumnValues values = std::move(columns[column]).finish();
    std::vector<std::string> found;
    for (int64_t row = 0; row < rows; ++row)
      found.emplace_back(reinterpret_cast<const char*>(values.values.data()) + values.offset()[row],
                         static_cast<size_t>(values.offset()[row + 1] - values.offset()[row]));
    return found;
  }
  template <typename T>
  std::vector<T> numbers(size_t column) {
    const ColumnValues values = std::move(columns[column]).finish();
    std::vector<T> found(values.values.size() / sizeof(T));
    std::memcpy(found.data(), values.values.data(), found.size() * sizeof(T));
    return found;
  }
  JsonNames names;
  std::vector<JsonColumn> columns;
  int64_t rows = 0;
};

std::vector<std::string> found_types(const std::vector<std::string>& lines) {
  JsonTypeFinder finder;
  for (const std::string& line : lines) EXPECT_TRUE(finder.add(bytes(line)).ok()) << line;
  std::vector<std::string> found;
  for (const JsonField& field : finder.fields())
    found.push_back(field.name + " " + std::string(json_type_word(field.type)));
  return found;
}

TEST(JsonTypes, are_the_narrowest_that_fit_all_values) {
  using List = std::vector<std::string>;
  EXPECT_EQ(found_types({R"({"b": true, "i": 1, "f": 1.5, "s": "x", "n": null})"}),
            (List{"b bool", "f float64", "i int64", "n text", "s text"}));
  EXPECT_EQ(found_types({R"({"a": 1})", R"({"a": 2.5})"}), (List{"a float64"}));
  EXPECT_EQ(found_types({R"({"a": 1})", R"({"a": 9223372036854775808})"}), (List{"a uint64"}));
  EXPECT_EQ(found_types({R"({"a": 1, "b": 18446744073709551616, "c": -9223372036854775809, "d": 1.5, "e": "x"})",
                         R"({"a": 18446744073709551616, "b": 2, "c": 1, "d": 18446744073709551616,
                             "e": 18446744073709551616})"}),
            (List{"a int64", "b int64", "c int64", "d float64", "e json"}));
  EXPECT_EQ(found_types({R"({"l": [1, 18446744073709551616], "f": [18446744073709551616, 1.5]})"}),
            (List{"f float64[]", "l json"}));
  EXPECT_EQ(found_types({R"({"a": {"b": [[1], {"c": 2}], "a": 1}, "a": 2})", "[[1]]"}), (List{"a int64", "value json"}))
      << "the last of two";
  EXPECT_EQ(found_types({R"({"a": 1})", R"({"a": "x"})"}), (List{"a json"}));
  EXPECT_EQ(found_types({R"({"a": [1, 2], "b": ["x"], "c": [[1]], "d": [], "e": [true], "f": [1, 0.5]})"}),
            (List{"a int64[]", "b text[]", "c json", "d text[]", "e bool[]", "f float64[]"}));
  EXPECT_EQ(found_types({R"({"u": {"x": 1, "y": {"z": "t"}}})"}), (List{"u.x int64", "u.y.z text"}));
  EXPECT_EQ(found_types({R"({"u": {"x": 1}})", R"({"u": 5})"}), (List{"u json"}));
  EXPECT_EQ(found_types({"[1, 2]", "[3]"}), (List{"value int64[]"}));
}

TEST(JsonRecord, members_go_where_their_names_say) {
  Reader reader({{"a.b", JsonType::kInt64, {}}, {"c", JsonType::kText, {}}, {"l", JsonType::kInt64List, {}}});
  EXPECT_TRUE(reader.read(R"({"x": [{"a": 1}], "a": {"b": 7, "q": {}}, "c": "é\n", "l": [1, 2]})").ok());
  EXPECT_TRUE(reader.read(R"({"a.b": 8, "c": "", "l": [], "a.c": 5})").ok());
  EXPECT_TRUE(
      reader.read(R"({"c": "first", "l": [9, 9, 9], "a": {"b": 1}, "l": [3], "a": {"b": 9}, "c": "last"})").ok());
  EXPECT_EQ(reader.numbers<int64_t>(0), (std::vector<int64_t>{7, 8, 9}));
  EXPECT_EQ(reader.texts(1), (std::vector<std::string>{"é\n", "", "last"}));
  EXPECT_EQ(reader.numbers<int64_t>(2), (std::vector<int64_t>{1, 2, 3}));
}

TEST(JsonRecord, values_of_any_kind_are_copied_as_text_without_blanks) {
  Reader reader({{"a", JsonType::kJson, {}}});
  for (const char* value : {"1", "-2.50e3", "true", "\"q\\\"\\u00e9\"", "[ ]", "{ }", "[1, [2, {\"k\": null}], \"s\"]"})
    EXPECT_TRUE(reader.read("{\"a\": " + std::string(value) + "}").ok()) << value;
  EXPECT_EQ(reader.texts(0),
            (std::vector<std::string>{"1", "-2.50e3", "true", "\"q\\\"é\"", "[]", "{}", "[1,[2,{\"k\":null}],\"s\"]"}));
}

TEST(JsonRecord, a_record_that_is_wrong_leaves_the_columns_as_they_were) {
  Reader reader({{"a", JsonType::kInt64, {}}, {"b", JsonType::kTextList, {}}});
  EXPECT_TRUE(reader.read(R"({"a": 1, "b": ["x", "y"]})").ok());
  for (const char* line :
       {R"({"a": 2, "b": ["z", 3]})", R"({"a": 2, "b": ["z")", R"({"a": "2", "b": []})", R"({"a": 2.5, "b": []})",
        R"({"b": []})", R"({"a": null, "b": []})", R"({"a": 18446744073709551615, "b": []})", R"({"a": 1e2, "b": []})",
        R"({"a": [1], "b": []})", R"({"a": {"c": 1}, "b": []})", R"({"a": 99999999999999999999, "b": []})",
        "{\"a\": 1, \"b\": [\"\xff\"]}", "", "[1]", "5"}) {
    const Status status = reader.read(line);
    EXPECT_EQ(status.code(), Code::kCorrupt) << line;
  }
  EXPECT_TRUE(reader.read(R"({"a": 3, "b": []})").ok());
  EXPECT_EQ(reader.numbers<int64_t>(0), (std::vector<int64_t>{1, 3}));
  const ColumnValues lists = std::move(reader.columns[1]).finish();
  const StringList first(lists.values.span().first(static_cast<size_t>(lists.offset()[1])));
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first.text(1), "y");
}

TEST(JsonRecord, whole_numbers_beyond_64_bits_are_rounded_only_where_floats_are_wanted) {
  Reader floats({{"a", JsonType::kFloat64, {}}, {"l", JsonType::kFloat64List, {}}, {"j", JsonType::kJson, {}}});
  EXPECT_TRUE(floats.read(R"({"a": 9007199254740993, "l": [18446744073709551616], "j": 18446744073709551616})").ok());
  EXPECT_TRUE(floats.read(R"({"a": -18446744073709551616, "l": [], "j": 1})").ok());
  EXPECT_EQ(floats.numbers<double>(0), (std::vector<double>{0x1p53, -0x1p64}));
  EXPECT_EQ(floats.numbers<double>(1), (std::vector<double>{0x1p64}));
  EXPECT_EQ(floats.texts(2), (std::vector<std::string>{"18446744073709551616", "1"}));

  Reader whole({{"a", JsonType::kInt64, {}}});
  const Status status = whole.read(R"({"a": 18446744073709551616})");
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_EQ(status.message(),
            "'a' is a whole number that 64 bits do not hold (-2^63 to 2^64 - 1) here and int64 by the fields; "
            "fields={\"a\": \"json\"} takes any value as text");
}

TEST(JsonRecord, what_is_null_or_missing_is_what_was_said) {
  Reader reader({{"a", JsonType::kFloat64, JsonInstead(0.5)}, {"b", JsonType::kBool, JsonInstead(true)}});
  EXPECT_TRUE(reader.read(R"({"a": null})").ok());
  EXPECT_TRUE(reader.read(R"({"a": 2, "a": null, "b": false})").ok());
  EXPECT_EQ(reader.numbers<double>(0), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(reader.numbers<uint8_t>(1), (std::vector<uint8_t>{1, 0}));
}

TEST(JsonRecord, members_of_objects_in_a_list_are_lists) {
  Reader reader({{"m.n", JsonType::kInt64List, JsonInstead(int64_t{-1})}, {"m.o.t", JsonType::kFloat64List, {}}});
  EXPECT_TRUE(reader.read(R"({"m": [{"n": 1, "o": {"t": 0.5}, "x": [{"n": 7}]}, {"o": {"t": 1, "n": 9}}]})").ok());
  EXPECT_TRUE(reader.read(R"({"m": [{"n": 5, "o": {"t": 2}}], "m": []})").ok());
  EXPECT_TRUE(reader.read(R"({"m": [{"n": 3, "n": 4, "o": {"t": 5, "t": 6}}]})").ok());
  const std::string text = reader.read(R"({"m": [{"n": 8, "o": {"t": 9}}, {"n": 8}]})").to_string();
  EXPECT_NE(text.find("'m.o.t' is null or missing in element 1 of its list"), std::string::npos) << text;
  EXPECT_EQ(reader.numbers<int64_t>(0), (std::vector<int64_t>{1, -1, 4}));
  EXPECT_EQ(reader.numbers<double>(1), (std::vector<double>{0.5, 1, 6}));
}

TEST(JsonRecord, no_depth_ends_a_process) {
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  Reader reader({{"a", JsonType::kInt64, {}}});
  EXPECT_TRUE(reader.read("{\"x\": " + deep + ", \"a\": 1}").ok());
  EXPECT_FALSE(reader.read("{\"a\": " + deep + "}").ok());
  EXPECT_FALSE(reader.read("{\"x\": " + std::string(300'000, '[')).ok());
}

TEST(JsonRecord, fields_inside_of_each_other_are_refused) {
  const std::vector<JsonField> inside = {{"a", JsonType::kInt64, {}}, {"a.b", JsonType::kInt64, {}}};
  EXPECT_EQ(JsonNames::of(inside).status().code(), Code::kInvalidArgument);
  const std::vector<JsonField> around = {{"a.b", JsonType::kInt64, {}}, {"a", JsonType::kInt64, {}}};
  EXPECT_EQ(JsonNames::of(around).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
