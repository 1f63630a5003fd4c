#include "materialize/shard_plan.h"

#include <algorithm>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

using Begins = std::vector<int64_t>;

TEST(ShardPlan, TheRequestedNumberOfShardsHaveEqualSizes) {
  EXPECT_EQ(plan_shards(10, {}, 1, 3).begins, (Begins{0, 3, 6, 10}));
  EXPECT_EQ(plan_shards(10, {}, 1, 1).begins, (Begins{0, 10}));
  EXPECT_EQ(plan_shards(3, {}, 1, 100).begins, (Begins{0, 1, 2, 3})) << "none is empty";
}

TEST(ShardPlan, OtherwiseShardsHaveAboutTheRequestedBytes) {
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

TEST(ShardPlan, EveryRowIsInExactlyOneShard) {
  for (int64_t rows = 1; rows < 40; ++rows)
    for (int64_t shards = 1; shards < 45; ++shards) {
      const Begins begins = plan_shards(rows, {}, 3, shards).begins;
      EXPECT_EQ(begins.front(), 0);
      EXPECT_EQ(begins.back(), rows);
      EXPECT_TRUE(std::adjacent_find(begins.begin(), begins.end(), std::greater_equal<>()) == begins.end());
      EXPECT_EQ(static_cast<int64_t>(begins.size()) - 1, std::min(shards, rows));
    }
}

TEST(ShardPlan, RoundTripsThroughJsonAndRefusesOtherTexts) {
  const ShardPlan plan = plan_shards(10, {}, 1, 3);
  EXPECT_EQ(ShardPlan::from_json(plan.to_json(), 10)->begins, plan.begins);
  EXPECT_EQ(ShardPlan::from_json(plan.to_json(), 11).status().code(), Code::kCorrupt);
  for (const char* text : {"", "{}", R"({"begins":[]})", R"({"begins":[0,5,3,10]})", R"({"begins":[1,10]})",
                           R"({"begins":["0",10]})", R"({"begins":{"0":10}})", "[0,10]"})
    EXPECT_EQ(ShardPlan::from_json(text, 10).status().code(), Code::kCorrupt) << text;
}

}  // namespace
}  // namespace forebay
