#include "pipeline/part_fields.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pipeline/operator.h"

namespace forebay {
namespace {

Field int64_field(std::string name) {
  Field field;
  field.name = std::move(name);
  field.dtype = DType::kInt64;
  return field;
}

Schema schema_of_names(const std::vector<std::string>& names) {
  Schema schema;
  for (const std::string& name : names) schema.push_back(int64_field(name));
  return schema;
}

std::vector<std::string> names_of_fields(const Schema& schema) {
  std::vector<std::string> names;
  for (const Field& field : schema) names.push_back(field.name);
  return names;
}

using FieldNames = std::vector<std::string>;

TEST(PartFields, are_named_after_their_part) {
  EXPECT_EQ(name_in_zip("mask", "image"), "mask/image");
  EXPECT_EQ(name_in_zip("", "image"), "image");
  EXPECT_EQ(name_in_part("mask", "mask/image"), "image");
  EXPECT_EQ(name_in_part("mask", "mask2/image"), std::nullopt);
  EXPECT_EQ(name_in_part("", "a/b"), "a/b");
  EXPECT_EQ(names_in_part("a", Json({"a/x", "b/y", "a/z"})), Json({"x", "z"}));
  EXPECT_EQ(names_in_part("a", Json({{"a/x", "a/y"}})), Json({{"x", "y"}}));
}

TEST(PartFields, are_taken_out_and_put_back_where_they_were) {
  const Schema all = schema_of_names({"a/x", "b/x", "b/y", "c/x"});
  const PartFields fields(all, "b");
  EXPECT_EQ(names_of_fields(fields.own()), (FieldNames{"x", "y"}));
  std::vector<int> values = {1, 2, 3, 4};
  EXPECT_EQ(fields.take(values), (std::vector<int>{2, 3}));
  EXPECT_EQ(values, (std::vector<int>{1, 4}));
  fields.put(values, {7, 8, 9});
  EXPECT_EQ(values, (std::vector<int>{1, 7, 8, 9, 4}));
  EXPECT_EQ(names_of_fields(fields.with(schema_of_names({"p", "q", "r"}))),
            (FieldNames{"a/x", "b/p", "b/q", "b/r", "c/x"}));
}

TEST(PartFields, of_a_part_without_any_come_behind_the_others) {
  const PartFields fields(schema_of_names({"a/x"}), "b");
  EXPECT_EQ(names_of_fields(fields.with(schema_of_names({"y"}))), (FieldNames{"a/x", "b/y"}));
}

TEST(PartFields, may_be_more_than_are_known_until_a_step_names_them) {
  Schema own = schema_of_names({"y"});
  own.open_ended = true;
  const Schema open = PartFields(schema_of_names({"a/x"}), "b").with(own);
  EXPECT_TRUE(open.open_ended);
  const PartFields fields(open, "b");
  EXPECT_TRUE(fields.own().open_ended);
  EXPECT_FALSE(fields.with(schema_of_names({"y"})).open_ended);
}

TEST(PartFields, are_all_read_by_a_function_of_the_part_that_names_none) {
  OpDef def;
  def.role = OpRole::kFunction;
  def.uses = [](const OpSpec&, const Schema&) { return FieldUse(); };
  OpSpec op;
  op.part = "b";
  EXPECT_EQ(def.used(op, schema_of_names({"a/x", "b/y", "b/z"})).reads, (FieldNames{"b/y", "b/z"}));
}

// A step that adds 10 to its only field, and calls it "sum".
class AddTen final : public RecordOp {
 public:
  Status apply(Record& record, const SampleContext&) const override {
    EXPECT_EQ(record.size(), 1u);
    Tensor sum = Tensor::allocate(DType::kInt64, Shape{});
    *sum.data<int64_t>() = *record[0].tensor.data<int64_t>() + 10;
    record[0] = Value::of(std::move(sum));
    return {};
  }
};

TEST(PartFields, are_all_that_an_operator_of_the_part_sees) {
  OpDef def;
  def.name = "add_ten";
  def.infer = [](const OpSpec&, Schema& schema, std::vector<Problem>&) { schema[0].name = "sum"; };
  def.compile = [](const OpSpec&, const Schema& before, uint32_t) -> Result<std::unique_ptr<RecordOp>> {
    EXPECT_EQ(names_of_fields(before), (FieldNames{"x"}));
    return std::unique_ptr<RecordOp>(std::make_unique<AddTen>());
  };
  def.uses = [](const OpSpec&, const Schema& before) { return FieldUse{{before[0].name}, {"sum"}}; };
  OpSpec op;
  op.name = "add_ten";
  op.part = "b";
  Schema schema = schema_of_names({"a/x", "b/x"});
  const FieldUse use = def.used(op, schema);
  EXPECT_EQ(use.reads, (FieldNames{"b/x"}));
  EXPECT_EQ(use.makes, (FieldNames{"b/sum"}));
  const auto made = def.make(op, schema, 0).value();
  std::vector<Problem> problems;
  def.follow(op, schema, problems);
  EXPECT_EQ(names_of_fields(schema), (FieldNames{"a/x", "b/sum"}));
  Record record;
  for (const int64_t value : {1, 2}) {
    Tensor tensor = Tensor::allocate(DType::kInt64, Shape{});
    *tensor.data<int64_t>() = value;
    record.push_back(Value::of(std::move(tensor)));
  }
  ASSERT_TRUE(made->apply(record, {}).ok());
  EXPECT_EQ(*record[0].tensor.data<int64_t>(), 1);
  EXPECT_EQ(*record[1].tensor.data<int64_t>(), 12);
  EXPECT_EQ(op.shown_name(), "b/add_ten");
}

}  // namespace
}  // namespace forebay
