#include "pipeline/run/row_answers.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

SampleName row_name(size_t row) { return {static_cast<int64_t>(row) + 7, "block " + std::to_string(row + 7)}; }

Value consecutive(int64_t count, int32_t first) {
  Tensor tensor = Tensor::allocate(DType::kInt32, Shape{count});
  for (int64_t i = 0; i < count; ++i) tensor.data<int32_t>()[i] = first + static_cast<int32_t>(i);
  return Value::of(std::move(tensor));
}

bool store_row(RowAnswers& answers, size_t row, std::vector<std::string> names, int64_t count = 2) {
  Schema schema;
  Record record;
  for (std::string& name : names) {
    Field field;
    field.name = std::move(name);
    schema.push_back(std::move(field));
    record.push_back(consecutive(count, 10 * static_cast<int32_t>(row)));
  }
  return answers.store(row, schema, std::move(record));
}

TEST(RowAnswers, TheLastAnswerMakesTheFields) {
  BatchField kept, replaced;
  kept.name = "kept";
  replaced.name = "a";
  RowAnswers answers(3, {replaced, kept});
  EXPECT_FALSE(store_row(answers, 2, {"b", "a"}));
  EXPECT_FALSE(store_row(answers, 0, {"a", "b"}));
  EXPECT_TRUE(store_row(answers, 1, {"a", "b"}));
  const Result<std::vector<BatchField>> made = answers.fields(row_name);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  ASSERT_EQ(made->size(), 3u);
  EXPECT_EQ((*made)[0].name, "kept");
  EXPECT_EQ((*made)[1].name, "a");
  EXPECT_EQ((*made)[1].values.shape, (Shape{3, 2}));
  EXPECT_EQ((*made)[1].values.data<int32_t>()[3], 11);
  EXPECT_EQ((*made)[2].values.data<int32_t>()[4], 20);
}

TEST(RowAnswers, RowsThatDifferAreAnErrorThatNamesOne) {
  RowAnswers fields(2, {});
  store_row(fields, 0, {"a"});
  store_row(fields, 1, {"a", "b"});
  const Status differ = fields.fields(row_name).status();
  EXPECT_EQ(differ.code(), Code::kInvalidArgument);
  EXPECT_NE(differ.message().find("gave the field 'b' for block 8 and not for block 7"), std::string::npos)
      << differ.message();
  EXPECT_EQ(differ.sample(), 8);
  RowAnswers lengths(2, {});
  store_row(lengths, 0, {"a"}, 2);
  store_row(lengths, 1, {"a"}, 3);
  EXPECT_NE(lengths.fields(row_name).status().message().find("arrays of different lengths as 'a'"), std::string::npos);
}

}  // namespace
}  // namespace forebay
