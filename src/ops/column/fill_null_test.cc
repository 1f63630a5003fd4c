#include <gtest/gtest.h>

#include <cmath>

#include "ops/column/column_test_support.h"

namespace forebay::ops_test {
namespace {

OpSpec fill(Json value, Json field) {
  return step("fill_null", {{"value", std::move(value)}, {"field", std::move(field)}});
}

TEST(fill_null, puts_the_value_where_the_mask_says_and_drops_the_mask) {
  Table table(3);
  table.add<float>("f", DType::kFloat32, {1, 0, 3})
      .add<uint8_t>("f_valid", DType::kBool, {1, 0, 1})
      .add<int64_t>("i", DType::kInt64, {0, 5, 0})
      .add<uint8_t>("i_valid", DType::kBool, {0, 1, 0});
  const Columns made = run_columns(table.columns(), {fill(-7, {"f", "i"})});
  EXPECT_EQ(made.schema.names(), "f, i");
  EXPECT_EQ(values_of<float>(made, "f"), (std::vector<float>{1, -7, 3}));
  EXPECT_EQ(values_of<int64_t>(made, "i"), (std::vector<int64_t>{-7, 5, -7}));
  const Columns nan = run_columns(table.columns(), {fill("nan", "f")});
  EXPECT_TRUE(std::isnan(values_of<float>(nan, "f")[1]));
}

TEST(fill_null, copies_nothing_where_nothing_is_missing) {
  Table table(2);
  table.add<float>("f", DType::kFloat32, {1, 2}).add<uint8_t>("f_valid", DType::kBool, {1, 1});
  const Columns made = run_columns(table.columns(), {fill(0, "f")});
  EXPECT_EQ(made.values[0].values.data(), table.columns().values[0].values.data());
}

TEST(fill_null, fills_text_bytes_bool_and_tensors) {
  Table table(3);
  table.add_texts("t", {"a", "", "ccc"}, FieldKind::kText, 2)
      .add<uint8_t>("t_valid", DType::kBool, {1, 0, 1})
      .add<uint8_t>("b", DType::kBool, {0, 0, 1})
      .add<uint8_t>("b_valid", DType::kBool, {0, 1, 1})
      .add<int16_t>("v", DType::kInt16, {1, 2, 0, 0, 5, 6}, {2})
      .add<uint8_t>("v_valid", DType::kBool, {1, 0, 1});
  const Columns made = run_columns(table.columns(), {fill("none", "t"), fill(true, "b"), fill(9, "v")});
  EXPECT_EQ(texts_of(made, "t"), (std::vector<std::string>{"a", "none", "ccc"}));
  EXPECT_EQ(values_of<uint8_t>(made, "b"), (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(values_of<int16_t>(made, "v"), (std::vector<int16_t>{1, 2, 9, 9, 5, 6}));
}

TEST(fill_null, fills_elements_of_lists_and_tensors_by_their_own_masks) {
  Table table(2);
  table.add_lists<float>("l", DType::kFloat32, {{1, 0}, {}}, 3)
      .add<uint8_t>("l_valid", DType::kBool, {1, 0})
      .add_lists<uint8_t>("l_items_valid", DType::kBool, {{1, 0}, {}}, 1)
      .add<int16_t>("v", DType::kInt16, {1, 0, 0, 0}, {2})
      .add<uint8_t>("v_valid", DType::kBool, {1, 0})
      .add<uint8_t>("v_items_valid", DType::kBool, {1, 0, 1, 1}, {2});
  const Columns made = run_columns(table.columns(), {fill(5, {"l", "v"})});
  EXPECT_EQ(made.schema.names(), "l, v");
  EXPECT_EQ(values_of<float>(made, "l"), (std::vector<float>{1, 5}));
  EXPECT_EQ(offsets_of(made, "l"), (std::vector<int64_t>{0, 2, 2}));
  EXPECT_EQ(values_of<int16_t>(made, "v"), (std::vector<int16_t>{1, 5, 5, 5}));
}

TEST(fill_null, misuse_is_told) {
  Schema schema({tensor_field("i", DType::kUint8, {}), tensor_field("i_valid", DType::kBool, {}), bytes_field("s"),
                 tensor_field("s_valid", DType::kBool, {}), tensor_field("l", DType::kInt64, {Shape::kUnknown}),
                 tensor_field("l_items_valid", DType::kBool, {}), tensor_field("f", DType::kFloat32, {})});
  const auto tells = [&](const OpSpec& spec, const char* what) {
    const std::string text = told(schema, {spec});
    EXPECT_NE(text.find(what), std::string::npos) << text;
  };
  tells(fill(300, "i"), "value is 300, and the field 'i' is uint8");
  tells(fill(0.5, "i"), "value is 0.5");
  tells(fill("x", "i"), "value is \"x\"");
  tells(fill(0, "s"), "give a text");
  tells(fill(0, "f"), "the field 'f' came without the mask 'f_valid' | give its source null=fb.NULL_MASK");
  tells(fill(0, "l"), "l_items_valid: bool () is no mask of l: int64 (?,)");
  tells(fill(nullptr, "i"), "value is missing");
}

TEST(pad, of_lists_marks_rows_that_are_too_long_as_bad) {
  Table table(3);
  table.add_lists<int32_t>("l", DType::kInt32, {{1, 2}, {1, 2, 3, 4}, {}}, 1);
  const Columns made = run_columns(table.columns(), {step("pad", {{"field", "l"}, {"value", -1}, {"length", 3}})});
  EXPECT_EQ(made.schema[0].pad_value, -1.0);
  EXPECT_EQ(made.schema[0].pad_length, 3);
  ASSERT_TRUE(made.bad_rows);
  ASSERT_EQ(made.bad_rows->size(), 1u);
  EXPECT_EQ(made.bad_rows->begin()->first, 1);
  EXPECT_NE(made.bad_rows->begin()->second.message().find("has 4 elements, more than length=3"), std::string::npos);
  EXPECT_FALSE(run_columns(table.columns(), {step("pad", {{"field", "l"}, {"value", 0}})}).bad_rows);
}

TEST(select_and_rename, of_columns_share_what_they_keep) {
  Table table(1);
  table.add<float>("a", DType::kFloat32, {1})
      .add<float>("b", DType::kFloat32, {2})
      .add<float>("c", DType::kFloat32, {3});
  const Columns made = run_columns(table.columns(), {step("select", {{"fields", {"c", "a"}}}),
                                                     step("rename", {{"names", {{"a", "c"}, {"c", "a"}}}})});
  EXPECT_EQ(made.schema.names(), "c, a");
  EXPECT_EQ(made.values[0].values.data(), table.columns().values[0].values.data());
}

}  // namespace
}  // namespace forebay::ops_test
