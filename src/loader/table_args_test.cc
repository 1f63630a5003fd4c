#include "loader/table_args.h"

#include <gtest/gtest.h>

#include <limits>

#include "forebay/forebay.h"

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

TEST(TableArgs, what_is_wrong_is_found_without_touching_storage) {
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
}

}  // namespace forebay
