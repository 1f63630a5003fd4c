#include "pipeline/block_columns.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace forebay {
namespace {

BatchField int32_field(std::string name, Shape shape, std::vector<int32_t> numbers) {
  BatchField field;
  field.name = std::move(name);
  field.values = Tensor::allocate(DType::kInt32, shape);
  std::ranges::copy(numbers, field.values.data<int32_t>());
  return field;
}

TEST(BlockColumns, FieldsAreTheSameBehindColumns) {
  BatchField ends = int32_field("ends", {5}, {0, 3, 4, 0, 4});
  ends.kind = BatchField::Kind::kRagged;
  ends.offsets = Tensor::allocate(DType::kInt64, Shape{3});
  std::ranges::copy(std::vector<int64_t>{0, 3, 5}, ends.offsets.data<int64_t>());
  const std::vector<BatchField> given{int32_field("tokens", {2, 4}, {1, 2, 3, 0, 4, 5, 6, 7}), ends,
                                      int32_field("longest", {2}, {3, 4})};
  const Columns columns = columns_of(given, 2);
  ASSERT_TRUE(columns.check().ok()) << columns.check().to_string();
  EXPECT_EQ(columns.schema.to_string(), "tokens: int32 (4,), ends: int32 (?,), longest: int32 ()");
  const std::vector<BatchField> back = fields_of(columns);
  ASSERT_EQ(back.size(), given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    EXPECT_EQ(back[i].name, given[i].name);
    EXPECT_EQ(back[i].kind, given[i].kind);
    EXPECT_EQ(back[i].values.shape, given[i].values.shape);
    EXPECT_EQ(back[i].offsets.shape, given[i].offsets.shape);
    EXPECT_EQ(back[i].values.buffer.data(), given[i].values.buffer.data()) << "nothing is copied";
  }
}

}  // namespace
}  // namespace forebay
