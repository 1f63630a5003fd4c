#include "format/table/partitions.h"

#include <gtest/gtest.h>

#include "format/table/open_table_test_support.h"

namespace forebay {

using namespace table_test;  // NOLINT: these tests are written in its words

TEST(Partitions, only_folders_of_the_form_name_equals_value_say_something) {
  const std::vector<std::pair<std::string, PartitionValues>> cases = {
      {"x.parquet", {}},
      {"a=1", {}},  // the file's own name
      {"a=1/b=2.parquet", {{"a", "1"}}},
      {"plain/a=1/more/b=x/f", {{"a", "1"}, {"b", "x"}}},
      {"=1/f", {}},
      {"a=/f", {{"a", ""}}},
      {"a=b=c/f", {{"a", "b=c"}}},
      {"/a=1//f", {{"a", "1"}}},
  };
  for (const auto& [path, values] : cases) EXPECT_EQ(partition_values(path), values) << path;
}

TEST(Partitions, names_and_values_are_url_decoded) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a%2Fb", "a/b"}, {"%C3%A9", "\xc3\xa9"}, {"100%", "100%"},
      {"%4", "%4"},     {"%4g", "%4g"},         {"%+4", "%+4"},
      {"%%41", "%A"},   {"%2541", "%41"},       {"%00", std::string(1, '\0')},
      {"a+b", "a+b"},
  };
  for (const auto& [written, meant] : cases) {
    EXPECT_EQ(partition_values(written + "=" + written + "/f"), (PartitionValues{{meant, meant}})) << written;
  }
}

TEST(Partitions, a_null_folder_is_a_null_only_if_that_is_all_it_says) {
  EXPECT_EQ(partition_values("a=__HIVE_DEFAULT_PARTITION__/f"), (PartitionValues{{"a", std::nullopt}}));
  EXPECT_EQ(partition_values("a=x__HIVE_DEFAULT_PARTITION__/f"),
            (PartitionValues{{"a", "x__HIVE_DEFAULT_PARTITION__"}}));
}

TEST(Partitions, a_column_is_of_integers_only_if_every_value_is_one_of_64_bits) {
  struct Case {
    Names values;
    bool integer;
  };
  const Case cases[] = {
      {{"1", "-2", "007"}, true},
      {{"9223372036854775807", "-9223372036854775808"}, true},
      {{"1", "9223372036854775808"}, false},
      {{"1", ""}, false},
      {{"1", "1.0"}, false},
      {{"1", " 2"}, false},
      {{"+1"}, false},
      {{"0x1"}, false},
      {{"1", "__HIVE_DEFAULT_PARTITION__"}, true},
      {{"__HIVE_DEFAULT_PARTITION__"}, false},  // no value determines the type of the column
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(one.values, " ")));
    Names paths;
    for (const std::string& value : one.values) paths.push_back("k=" + value + "/f");
    const auto columns = partition_columns(paths).value();
    ASSERT_EQ(columns.size(), 1u);
    EXPECT_EQ(columns[0].is_integer, one.integer);
    EXPECT_EQ(columns[0].integers.size(), one.integer ? paths.size() : 0);
    EXPECT_EQ(columns[0].texts.size(), paths.size());
  }
}

TEST(Partitions, values_stand_in_the_order_of_the_files) {
  const auto columns = partition_columns({"y=2/m=b/1", "y=1/m=a/2", "y=__HIVE_DEFAULT_PARTITION__/m=c/3"}).value();
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0].integers, (std::vector<int64_t>{2, 1, 0}));
  EXPECT_TRUE(columns[0].has_nulls());
  EXPECT_TRUE(columns[0].is_null(2));
  EXPECT_FALSE(columns[0].is_null(1));
  EXPECT_FALSE(columns[1].has_nulls());
  EXPECT_EQ(columns[1].texts, (std::vector<std::optional<std::string>>{"b", "a", "c"}));
  EXPECT_TRUE(partition_columns({}).value().empty());
  EXPECT_TRUE(partition_columns({"x", "plain/y"}).value().empty()) << "folders that say nothing may differ";
}

TEST(Partitions, files_in_other_kinds_of_folders_are_told_with_both) {
  const std::vector<std::pair<Names, Names>> cases = {
      {{"a=1/f", "b=1/g"}, {"'a=1/f'", "a=…", "'b=1/g'", "b=…"}},
      {{"a=1/b=2/f", "b=2/a=1/g"}, {"a=…/b=…", "b=…/a=…", "the same order"}},
      {{"a=1/f", "g"}, {"'g' in folders for none"}},
      {{"f", "a=1/g"}, {"'f' lies in folders for none"}},
      {{"a=1/f", "a=1/b=2/g"}, {"a=…/b=…"}},
      {{"a=1/x/a=2/f"}, {"two folders called 'a=…'"}},
  };
  for (const auto& [paths, parts] : cases)
    expect_error(partition_columns(paths).status(), Code::kInvalidArgument, parts);
}

}  // namespace forebay
