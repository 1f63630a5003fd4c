#include "loader/describe/table_args.h"

#include <gtest/gtest.h>

#include <limits>

#include "forebay/loader.h"
#include "forebay/pipeline.h"
#include "pipeline/op_spec.h"

namespace forebay {

TEST(TableArgs, a_description_says_what_was_typed_and_reads_it_back) {
  const Pipeline pipeline =
      parquet("data/**/*.parquet",
              {.columns = {"user", "price"},
               .filter = {{{"price", ">=", 3.5}, {"day", "in", {1, 2}}}, {{"name", "==", "x"}, {"sold", "!=", true}}},
               .null = null_values({{"price", 0.0}, {"user.name", "?"}})});
  EXPECT_EQ(pipeline.to_string(),
            R"(parquet(pattern="data/**/*.parquet", columns=["user","price"], )"
            R"(filter=[[["price",">=",3.5],["day","in",[1,2]]],[["name","==","x"],["sold","!=",true]]], )"
            R"(null={"by_column":{"price":0.0,"user.name":"?"}}))");
  EXPECT_TRUE(pipeline.check().empty());
  const auto again = Pipeline::from_json(pipeline.to_json().value());
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(again->to_string(), pipeline.to_string());
  EXPECT_TRUE(again->check().empty());
}

TEST(TableArgs, numbers_that_json_does_not_know_survive) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()}) {
    const Pipeline pipeline = arrow(Fields{"a.arrow", "b.arrow"}, {.null = null_value(value)});
    EXPECT_TRUE(Pipeline::from_json(pipeline.to_json().value())->check().empty()) << pipeline.to_string();
  }
}

TEST(TableArgs, wrong_arguments_are_found_without_touching_storage) {
  const auto problem = [](const std::string& args) {
    const auto pipeline = Pipeline::from_json(R"({"forebay_pipeline": 1, "steps": [{"op": "parquet")" + args + "}]}");
    EXPECT_TRUE(pipeline.ok()) << args;
    std::string text;
    for (const Problem& each : pipeline->check()) text += each.op + ": " + each.message + "; " + each.remedy;
    return text;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  };
  EXPECT_EQ(problem(R"(, "pattern": "x", "filter": [["a", "not in", [1]]], "null": {"mask": true})"), "");
  EXPECT_EQ(problem(R"(, "pattern": "x", "filter": [[["a", "=", 1]], [["b", "<", 2.5]]], "null": 0)"), "");
  has(problem(""), "0: parquet: nothing is given; give a pattern");
  has(problem(R"(, "pattern": [])"), "nothing is given");
  has(problem(R"(, "pattern": [3])"), "pattern: 3 is no name");
  has(problem(R"(, "pattern": "x", "colums": ["a"])"), "did you mean 'columns'");
  has(problem(R"(, "pattern": "x", "columns": [1])"), "columns: 1 is no name");
  has(problem(R"(, "pattern": "x", "filter": ["a", "==", 1])"), "is no condition");
  has(problem(R"(, "pattern": "x", "filter": [["a", "like", 1]])"), "'like' of the condition on 'a'");
  has(problem(R"(, "pattern": "x", "filter": [["a", "==", {"b": 1}]])"), "the condition on 'a'");
  has(problem(R"(, "pattern": "x", "filter": [["a", "==", 18446744073709551615]])"), "does not fit into 64 bits");
  has(problem(R"(, "pattern": "x", "filter": [[]])"), "is no");
  has(problem(R"(, "pattern": "x", "null": {"by_column": {}})"), "null: ");
  has(problem(R"(, "pattern": "x", "null": [1])"), "fb.NULL_MASK");
  has(problem(R"(, "pattern": "x", "null": {"value": 0, "by_colum": {"a": 1}})"), "by_colum");
  has(problem(R"(, "pattern": "x", "null": {"mask": true, "value": 0})"), "null: ");
  has(problem(R"(, "pattern": "x", "null": {"mask": false})"), "null: ");
  has(problem(R"(, "pattern": "x", "null": {"bytes": "0g"})"), "null: ");
  has(problem(R"(, "pattern": "x", "filter": [["a", "in", 1]])"), "'in' on 'a' needs a list of values, not 1");
  has(problem(R"(, "pattern": "x", "filter": [["a", "==", [1]]])"), "'==' on 'a' needs one value, not [1]");
  has(problem(R"(, "pattern": "x", "filter": [["a", "==", {"bytes": "abc"}]])"),
      "no even number of hexadecimal digits");
  has(problem(R"(, "pattern": "x", "filter": {"a": 1})"), "is no list of conditions");
}

TEST(TableArgs, values_of_every_kind_are_the_same_behind_json) {
  const std::string all_bytes = [] {
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
    return bytes;
  }();
  for (const TableValue& value :
       {TableValue(true), TableValue(false), TableValue(int64_t{0}), TableValue(INT64_MIN), TableValue(INT64_MAX),
        TableValue(0.1), TableValue(-0.0), TableValue(5e-324), TableValue(1.7976931348623157e308), TableValue(1.0),
        TableValue(std::string()), TableValue(std::string("é \"quoted\" \n")), TableValue(std::string("a\0b", 3)),
        TableValue(std::string("\xff\xfe")), TableValue(all_bytes), TableValue(std::string("\xc3"))}) {
    const Pipeline pipeline =
        parquet("x", {.filter = {{{"a", "==", value}, {"b", "in", {value, value}}}}, .null = null_value(value)});
    EXPECT_TRUE(pipeline.check().empty()) << pipeline.to_string();
    const auto text = pipeline.to_json();
    ASSERT_TRUE(text.ok()) << text.status().to_string();
    const auto again = Pipeline::from_json(*text);
    ASSERT_TRUE(again.ok()) << again.status().to_string();
    EXPECT_TRUE(again->check().empty()) << *text;
    EXPECT_EQ(again->to_json().value(), *text);
    EXPECT_EQ(again->to_string(), pipeline.to_string()) << "a float stays one, a bool is no number";
  }
}

TEST(TableArgs, invalid_streams_are_refused_before_any_is_taken) {
  EXPECT_EQ(arrow_streams_step({}, Json::object()).status().code(), Code::kInvalidArgument);
  void* const one[] = {nullptr};
  EXPECT_FALSE(arrow_streams_step(one, Json::object()).ok());
  EXPECT_EQ(arrow_streams_step(one, {{"null", Json::array()}}).status().code(), Code::kInvalidArgument)
      << "arguments first: a stream that was taken cannot be given back";
}

}  // namespace forebay
