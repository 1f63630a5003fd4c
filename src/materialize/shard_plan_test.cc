#include "materialize/shard_plan.h"

#include <algorithm>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

using Begins = std::vector<int64_t>;

TEST(ShardPlan, SoManyShardsOfEqualSize) {
  EXPECT_EQ(plan_shards(10, {}, 1, 3).begins, (Begins{0, 3, 6, 10}));
  EXPECT_EQ(plan_shards(10, {}, 1, 1).begins, (Begins{0, 10}));
  EXPECT_EQ(plan_shards(3, {}, 1, 100).begins, (Begins{0, 1, 2, 3})) << "none is empty";
}

TEST(ShardPlan, ElseAboutSoManyBytesEach) {
  EXPECT_EQ(plan_shards(10, {}, 25, {}, 100).begins, (Begins{0, 4, 8, 10}));
  EXPECT_EQ(plan_shards(3, {}, 1000, {}, 100).begins, (Begins{0, 1, 2, 3})) << "a sample at least";
  EXPECT_EQ(plan_shards(1000, {}, 0, {}, 100).begins.size(), 11U) << "samples of no bytes count as one";
}

TEST(ShardPlan, OfATableShardsBeginWhereChunksDo) {
  const Begins chunks{0, 4, 4, 9, 12, 20};
  EXPECT_EQ(plan_shards(20, chunks, 1, 1).begins, (Begins{0, 20}));
  EXPECT_EQ(plan_shards(20, chunks, 1, 100).begins, (Begins{0, 4, 9, 12, 20}));
  EXPECT_EQ(plan_shards(20, chunks, 1, 3).begins, (Begins{0, 9, 20}));
}

TEST(ShardPlan, WhateverIsAskedForAllRowsAreInItOnce) {
  for (int64_t rows = 1; rows < 40; ++rows)
    for (int64_t shards = 1; shards < 45; ++shards) {
      const Begins begins = plan_shards(rows, {}, 3, shards).begins;
      EXPECT_EQ(begins.front(), 0);
      EXPECT_EQ(begins.back(), rows);
      EXPECT_TRUE(std::adjacent_find(begins.begin(), begins.end(), std::greater_equal<>()) == begins.end());
      EXPECT_EQ(static_cast<int64_t>(begins.size()) - 1, std::min(shards, rows));
    }
}

TEST(ShardPlan, IsReadAsItWasWrittenAndNothingElseIs) {
  const ShardPlan plan = plan_shards(10, {}, 1, 3);
  EXPECT_EQ(ShardPlan::from_json(plan.to_json(), 10)->begins, plan.begins);
  EXPECT_EQ(ShardPlan::from_json(plan.to_json(), 11).status().code(), Code::kCorrupt);
  for (const char* text : {"", "{}", R"({"begins":[]})", R"({"begins":[0,5,3,10]})", R"({"begins":[1,10]})",
                           R"({"begins":["0",10]})", R"({"begins":{"0":10}})", "[0,10]"})
    EXPECT_EQ(ShardPlan::from_json(text, 10).status().code(), Code::kCorrupt) << text;
}

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

TEST(SeenSamples, SmallFieldsAreInTheIndexAndKnownShapesAreKept) {
  SeenSamples seen;
  for (const size_t bytes : {10, 20}) seen.add(batch_of(bytes));
  seen.add(Batch());
  EXPECT_EQ(seen.samples(), 2);
  EXPECT_EQ(seen.bytes(), 60U);
  Schema inferred;
  Field image;
  image.name = "image", image.shape = {17}, image.image = true;
  inferred.push_back(image);
  const std::vector<StoredField> fields = seen.fields(inferred);
  ASSERT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields[0].field.shape, (Shape{17}));
  EXPECT_TRUE(fields[0].field.image && fields[0].in_index && fields[1].in_index);
  EXPECT_EQ(fields[1].field.kind, FieldKind::kText);
  SeenSamples large;
  large.add(batch_of(10'000));
  for (const StoredField& field : large.fields({})) EXPECT_FALSE(field.in_index) << field.field.name;
  Batch lists = batch_of(10'000);
  lists.fields.erase(lists.fields.begin());
  lists.fields[0].kind = BatchField::Kind::kTextList;
  lists.fields[0].string_offsets = lists.fields[0].offsets;  // one string
  lists.fields[0].offsets = Tensor::allocate(DType::kInt64, {2});
  lists.fields[0].offsets.data<int64_t>()[0] = 0, lists.fields[0].offsets.data<int64_t>()[1] = 1;
  SeenSamples strings;
  strings.add(lists);
  EXPECT_TRUE(strings.fields({})[0].in_index) << "however long they are";
}

}  // namespace
}  // namespace forebay
