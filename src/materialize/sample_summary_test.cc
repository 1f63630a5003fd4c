#include "materialize/sample_summary.h"

#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

Batch batch_of(size_t bytes) {
  Batch batch;
  batch.ids = {0};
  BatchField image, text;
  image.name = "image", image.values = Tensor::allocate(DType::kUint8, {1, static_cast<int64_t>(bytes)});
  text.name = "text", text.kind = BatchField::Kind::kText;
  text.values = Tensor::allocate(DType::kUint8, {static_cast<int64_t>(bytes)});
  text.offsets = Tensor::allocate(DType::kInt64, {2});
  text.offsets.data<int64_t>()[0] = 0, text.offsets.data<int64_t>()[1] = static_cast<int64_t>(bytes);
  batch.fields = {image, text};
  return batch;
}

TEST(SampleSummary, SmallFieldsAreInTheIndexAndKnownShapesAreKept) {
  SampleSummary summary;
  for (const size_t bytes : {10, 20}) summary.add(batch_of(bytes));
  summary.add(Batch());
  EXPECT_EQ(summary.samples(), 2);
  EXPECT_EQ(summary.bytes(), 60U);
  Schema inferred;
  Field image;
  image.name = "image", image.shape = {17}, image.image = true;
  inferred.push_back(image);
  const std::vector<StoredField> fields = summary.fields(inferred);
  ASSERT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields[0].field.shape, (Shape{17}));
  EXPECT_TRUE(fields[0].field.image && fields[0].in_index && fields[1].in_index);
  EXPECT_EQ(fields[1].field.kind, FieldKind::kText);
  SampleSummary large;
  large.add(batch_of(10'000));
  for (const StoredField& field : large.fields({})) EXPECT_FALSE(field.in_index) << field.field.name;
  Batch lists = batch_of(10'000);
  lists.fields.erase(lists.fields.begin());
  lists.fields[0].kind = BatchField::Kind::kTextList;
  lists.fields[0].string_offsets = lists.fields[0].offsets;  // one string
  lists.fields[0].offsets = Tensor::allocate(DType::kInt64, {2});
  lists.fields[0].offsets.data<int64_t>()[0] = 0, lists.fields[0].offsets.data<int64_t>()[1] = 1;
  SampleSummary strings;
  strings.add(lists);
  EXPECT_TRUE(strings.fields({})[0].in_index) << "however long they are";
}

}  // namespace
}  // namespace forebay
