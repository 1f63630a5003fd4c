// Arguments: the errors that all operators share, and the results of the getters.

#include "ops/definition/args.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "ops/ops_test_support.h"

namespace forebay::ops_test {
namespace {

/// Fields of every kind, so that each operator finds one that it accepts.
Schema many_fields() {
  Field text = bytes_field("text"), list = tensor_field("list", DType::kInt64, {Shape::kUnknown});
  text.kind = FieldKind::kText;
  return Schema({picture_field(), tensor_field("x", DType::kFloat32, {}), tensor_field("y", DType::kFloat32, {}),
                 tensor_field("y_valid", DType::kBool, {}), text, bytes_field("bytes"), list,
                 tensor_field("row", DType::kInt16, {4})});
}

/// A value of that type and of no other, if there is one.
Json of_type(ArgType type) {
  switch (type) {
    case ArgType::kInt: return 3;
    case ArgType::kFloat:
    case ArgType::kLimit: return 0.5;
    case ArgType::kBool: return true;
    case ArgType::kText:
    case ArgType::kTextOrNone:
    case ArgType::kPath:
    case ArgType::kFileHash: return "text";
    case ArgType::kSize: return Json::array({3, 4});
    case ArgType::kFloats:
    case ArgType::kRange:
    case ArgType::kLowHigh: return Json::array({0.5, 0.5});
    case ArgType::kFields: return Json::array({"x", "y"});
    case ArgType::kDType: return "float64";
    case ArgType::kBytes: return "2GiB";
    case ArgType::kWeights: return Json::array({0.5, 2});
    default: return nullptr;
  }
}

const std::vector<Json>& odd_values() {
  static const std::vector<Json> values = {Json::object(),
                                           Json{{"a", 1}},
                                           Json::array(),
                                           Json::array({nullptr}),
                                           Json::array({Json::array({1})}),
                                           Json::array({1, 2, 3}),
                                           Json::array({"a", 1}),
                                           true,
                                           -1,
                                           0,
                                           1.5,
                                           1e300,
                                           INT64_MIN,
                                           UINT64_MAX,
                                           "",
                                           "nonsense",
                                           "\xff",
                                           std::nan(""),
                                           std::numeric_limits<double>::infinity(),
                                           -std::numeric_limits<double>::infinity()};
  return values;
}

std::vector<Problem> problems_with(const OpDef& def, const std::string& arg, const Json& value) {
  Schema schema = many_fields();
  std::vector<Problem> problems;
  def.infer(step(def.name, {{arg, value}}), schema, problems);
  return problems;
}

bool names(const std::vector<Problem>& problems, const std::string& start) {
  return std::any_of(problems.begin(), problems.end(),
                     [&](const Problem& problem) { return problem.message.starts_with(start); });
}

TEST(args, of_another_type_are_refused_by_every_operator_with_what_would_do) {
  for (const OpDef& def : all_ops()) {
    for (const ArgDef& arg : def.args) {
      if (of_type(arg.type).is_null()) continue;  // the operator checks these
      for (const Json& wrong : {Json::object(), Json(Json::array({Json::object()}))})
        EXPECT_TRUE(names(problems_with(def, arg.name, wrong), arg.name + " is ")) << def.name << " " << arg.name;
    }
  }
}

TEST(args, that_are_odd_never_break_an_operator_and_are_never_told_without_a_remedy) {
  for (const OpDef& def : all_ops()) {
    for (const ArgDef& arg : def.args) {
      for (const Json& odd : odd_values()) {
        for (const Problem& problem : problems_with(def, arg.name, odd)) {
          EXPECT_FALSE(problem.message.empty()) << def.name << " " << arg.name;
          EXPECT_FALSE(problem.remedy.empty()) << def.name << " " << arg.name << ": " << problem.message;
        }
      }
    }
  }
}

TEST(args, that_are_missing_or_unknown_are_told_by_every_operator) {
  for (const OpDef& def : all_ops()) {
    const auto without = problems_with(def, "no such argument", 1);
    EXPECT_TRUE(names(without, "unknown argument 'no such argument'")) << def.name;
    for (const ArgDef& arg : def.args) {
      EXPECT_EQ(names(without, arg.name + " is missing"), arg.required) << def.name << " " << arg.name;
      // A null means "not given".
      EXPECT_EQ(names(problems_with(def, arg.name, nullptr), arg.name + " is missing"), arg.required)
          << def.name << " " << arg.name;
      if (arg.name.size() < 4) continue;
      const auto mistyped = problems_with(def, arg.name.substr(0, arg.name.size() - 1), 1);
      EXPECT_TRUE(std::any_of(
          mistyped.begin(), mistyped.end(),
          [&](const Problem& problem) { return problem.message.find("did you mean '") != std::string::npos; }))
          << def.name << " " << arg.name;
    }
  }
}

TEST(args, defaults_are_of_their_own_type) {
  for (const OpDef& def : all_ops()) {
    for (const ArgDef& arg : def.args) {
      if (arg.default_value.is_null()) continue;
      const auto problems = problems_with(def, arg.name, arg.default_value);
      EXPECT_FALSE(names(problems, arg.name + " is ")) << def.name << " " << arg.name;
    }
  }
}

// Results of the getters.

const std::vector<ArgDef> kDefs = {{"n", ArgType::kInt, true, nullptr, ""},
                                   {"size", ArgType::kSize, false, nullptr, ""},
                                   {"mean", ArgType::kFloats, false, 0.5, ""},
                                   {"field", ArgType::kFields, false, "image", ""},
                                   {"bytes", ArgType::kBytes, false, "1GiB", ""}};

TEST(args, one_value_stands_for_a_list_of_one) {
  const Json one = {{"mean", 3}, {"field", "x"}, {"size", 7}};
  const Json many = {{"mean", {3}}, {"field", {"x"}}, {"size", Json::array({7})}};
  for (const Json& given : {one, many}) {
    const Args args(given, kDefs);
    EXPECT_EQ(args.numbers("mean"), std::vector<double>{3});
    EXPECT_EQ(args.names("field"), std::vector<std::string>{"x"});
    EXPECT_EQ(args.size("size"), (Size{7, 7}));
  }
}

TEST(args, a_size_is_height_before_width) {
  const Json given = {{"size", {3, 9}}};
  EXPECT_EQ(Args(given, kDefs).size("size"), (Size{.height = 3, .width = 9}));
}

TEST(args, what_is_not_given_is_the_default) {
  const Json nothing = Json::object(), null = {{"mean", nullptr}};
  for (const Json& given : {nothing, null}) {
    const Args args(given, kDefs);
    EXPECT_EQ(args.numbers("mean"), std::vector<double>{0.5});
    EXPECT_EQ(args.names("field"), std::vector<std::string>{"image"});
    EXPECT_EQ(args.bytes("bytes"), uint64_t{1} << 30);
    EXPECT_FALSE(args.has("n"));
    EXPECT_FALSE(args.has("size"));
    EXPECT_TRUE(args.has("mean"));
    EXPECT_FALSE(args.has("no such argument"));
  }
}

std::string told_of(const Json& given) {
  std::vector<Problem> list;
  Problems problems(list);
  check_args(given, kDefs, problems);
  std::string text;
  for (const Problem& problem : list) text += problem.message + " | " + problem.remedy + "\n";
  return text;
}

TEST(args, whole_numbers_are_whole_and_fit_into_64_bits) {
  EXPECT_EQ(told_of({{"n", INT64_MIN}}), "");
  EXPECT_EQ(told_of({{"n", INT64_MAX}}), "");
  EXPECT_EQ(told_of({{"n", uint64_t{1} << 63}}), "n is 9223372036854775808 | give a whole number\n");
  EXPECT_EQ(told_of({{"n", 1.0}}), "n is 1.0 | give a whole number\n");
  EXPECT_EQ(told_of({{"n", true}}), "n is true | give a whole number\n");
  EXPECT_EQ(told_of({{"n", "1"}}), "n is \"1\" | give a whole number\n");
}

TEST(args, sizes_have_one_side_or_two) {
  const std::string refused = " | give a whole number or [height, width]\n";
  EXPECT_EQ(told_of({{"n", 1}, {"size", Json::array()}}), "size is []" + refused);
  EXPECT_EQ(told_of({{"n", 1}, {"size", {1, 2, 3}}}), "size is [1,2,3]" + refused);
  EXPECT_EQ(told_of({{"n", 1}, {"size", {1, 2.5}}}), "size is [1,2.5]" + refused);
  EXPECT_EQ(told_of({{"n", 1}, {"size", {1, 2}}}), "");
}

TEST(args, bytes_are_a_number_or_a_text) {
  for (const Json& good : {Json(0), Json(INT64_MAX), Json("2GiB"), Json("1.5MB")})
    EXPECT_EQ(told_of({{"n", 1}, {"bytes", good}}), "");
  for (const Json& bad : {Json(-1), Json(1.5), Json("many"), Json(""), Json(UINT64_MAX), Json(Json::array({1}))})
    EXPECT_NE(told_of({{"n", 1}, {"bytes", bad}}), "") << bad.dump();
}

TEST(args, every_problem_is_told_at_once) {
  const std::string text = told_of({{"sise", 1}, {"mean", "x"}, {"field", 3}});
  for (const char* part :
       {"unknown argument 'sise' (did you mean 'size'?)", "mean is \"x\"", "field is 3", "n is missing"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(args, text_that_is_not_utf8_can_be_told) { EXPECT_NE(told_of({{"n", "caf\xe9"}}).find("caf"), std::string::npos); }

TEST(fields, that_are_not_there_are_told_with_the_nearest_and_all_there_are) {
  std::vector<Problem> list;
  Problems problems(list);
  const std::vector<std::string> wanted = {"x", "imag", "row"};
  EXPECT_EQ(check_fields(wanted, many_fields(), problems), (std::vector<size_t>{1, 7})) << "those that are there";
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].message, "there is no field 'imag' (did you mean 'image'?)");
  EXPECT_NE(list[0].remedy.find("'image', 'x', 'y', 'y_valid', 'text', 'bytes', 'list', 'row'"), std::string::npos)
      << list[0].remedy;
}

}  // namespace
}  // namespace forebay::ops_test
