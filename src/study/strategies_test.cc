#include "study/strategies.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/op_spec.h"
#include "study/kept_bytes.h"
#include "study/study_test_support.h"

namespace forebay {
namespace {

std::vector<std::string> names(const std::vector<Strategy>& strategies) {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies) names.push_back(strategy.name);
  return names;
}

Strategy strategy(std::string name, double preparing, double bytes, double rate) {
  Strategy made;
  made.name = std::move(name), made.tier = bytes > 0 ? StrategyTier::kMemory : StrategyTier::kNothing;
  made.bytes = {bytes}, made.preparation_seconds = {preparing}, made.rate = {rate};
  return made;
}

const OpSpec* cache_of(const Description& description) { return find_step(description, OpEffect::kCaching); }

TEST(Strategies, EachPlaceInMemoryThenOnDiskThenCompressed) {
  const auto found = names(strategies_for(pictures().description()));
  ASSERT_EQ(found.size(), 12u);
  EXPECT_EQ(found[0], "cache behind resize, in memory");
  EXPECT_EQ(found[2], "cache behind images, in memory");
  EXPECT_EQ(found[3], "cache behind resize, on disk");
  EXPECT_EQ(found[6], "cache behind resize, on disk, lz4");
  EXPECT_EQ(found[11], "cache behind images, on disk, zstd");
}

TEST(Strategies, FilesAreTriedWhereTheyCanBeWrittenAndNamed) {
  const auto found = strategies_for(pictures().description(), /*files=*/true);
  ASSERT_EQ(found.size(), 15u);
  EXPECT_EQ(found[6].name, "files behind resize");
  EXPECT_EQ(found[6].tier, StrategyTier::kFiles);
  EXPECT_EQ(found[8].name, "files behind images");
  // If two steps have the same name, a cut means the last one.
  const auto twice =
      strategies_for(images("/photos").decode_image().resize(64).resize(32).batch(8).description(), true);
  const auto of_files = [](const Strategy& one) { return one.tier == StrategyTier::kFiles; };
  EXPECT_EQ(std::count_if(twice.begin(), twice.end(), of_files), 3);
  EXPECT_EQ(*std::find_if(twice.begin(), twice.end(), of_files)->behind, 3u);
}

TEST(Strategies, ATrialIsOverFewSamplesAndOnlyInItsTier) {
  const Pipeline pipeline = pictures();
  for (const Strategy& strategy : strategies_for(pipeline.description())) {
    const Changed trial = for_trial(pipeline.description(), strategy, 300, 5000, "/scratch");
    EXPECT_TRUE(check(trial.description).empty()) << strategy.name;
    EXPECT_EQ(trial.description.steps()[1].args, (Json{{"n", 300}, {"spread", true}}));
    const Json& args = cache_of(trial.description)->args;
    const bool memory = strategy.tier == StrategyTier::kMemory;
    EXPECT_EQ(args["ram"], memory ? 5000 : 0);
    EXPECT_EQ(args["disk"], memory ? 0 : 5000);
    EXPECT_EQ(args.value("dir", Json()), memory ? Json() : Json("/scratch")) << "never in the user's own cache";
    EXPECT_EQ(args.value("compression", ""), strategy.compression);
  }
}

TEST(Strategies, WhatIsWrittenHasRoomForAllSamples) {
  Strategy strategy = strategies_for(pictures().description())[6];
  strategy.bytes = {1000, 900, 1200};
  strategy.entries = 10;
  const Changed written = as_written(pictures().description(), strategy);
  EXPECT_EQ(cache_of(written.description)->args,
            (Json{{"ram", 0}, {"disk", disk_budget_for(strategy.bytes, 10)}, {"compression", "lz4"}}));
  strategy.tier = StrategyTier::kMemory;
  strategy.compression = "";
  EXPECT_EQ(cache_of(as_written(pictures().description(), strategy).description)->args,
            (Json{{"ram", 1260}, {"disk", 0}}));
  EXPECT_EQ(find_step(written.description, OpEffect::kTaking), nullptr) << "over all samples";
}

TEST(Strategies, WithoutRoomForAllTheRateIsMixed) {
  Strategy one = strategy("", 1, 1000, 400);
  one.rate = {400, 390, 410};
  limit_to_room(one, 2000, {100, 90, 110});
  EXPECT_EQ(one.rate.value, 400) << "there is room";
  limit_to_room(one, 500, {100, 90, 110});
  EXPECT_DOUBLE_EQ(one.fits, 0.5);
  EXPECT_DOUBLE_EQ(one.rate.value, 160);  // half of the samples at 400, half at 100
  EXPECT_LT(*one.rate.low, 160);
  EXPECT_GT(*one.rate.high, 160);
}

TEST(RankStrategies, WeightsDecideTheOrder) {
  const auto first = [](const char* weights) {
    std::vector<Strategy> all = {strategy("nothing", 10, 0, 100), strategy("large", 20, 1000, 1000),
                                 strategy("small", 12, 100, 700), strategy("bad", 30, 1000, 90)};
    rank_strategies(all, *weights_named(weights), 1000);
    return all.front().name;
  };
  EXPECT_EQ(first("throughput"), "large");
  EXPECT_EQ(first("deadline"), "small");
  EXPECT_EQ(first("storage"), "small");
  EXPECT_FALSE(weights_named("speed").has_value());
}

TEST(RankStrategies, AmongSimilarScoresTheSmallestIsFirst) {
  std::vector<Strategy> all = {strategy("nothing", 10, 0, 100), strategy("large", 20, 1000, 1000),
                               strategy("small", 20, 100, 990)};
  rank_strategies(all, {}, 1000);
  EXPECT_EQ(names(all), (std::vector<std::string>{"small", "large", "nothing"}));
}

TEST(RankStrategies, ItPaysOffOnceItHasSavedWhatItCost) {
  // An epoch takes 10 s without a cache and 1 s with it. The first epoch takes 15 s longer, which
  // 15 / 9 later epochs make up for.
  std::vector<Strategy> all = {strategy("nothing", 10, 0, 100), strategy("kept", 25, 10, 1000),
                               strategy("slower", 10, 10, 90), strategy("free", 10, 5, 1000)};
  rank_strategies(all, {}, 1000);
  for (const Strategy& one : all) {
    if (one.name == "kept") {
      EXPECT_EQ(one.pays_after, 3);
    }
    if (one.name == "free") {
      EXPECT_EQ(one.pays_after, 2) << "what is kept is there from the second on";
    }
    if (one.name == "slower" || one.name == "nothing") {
      EXPECT_FALSE(one.pays_after.has_value());
    }
  }
}

TEST(RankStrategies, TheParetoFrontIsMarked) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 100; ++round) {
    std::vector<Strategy> all = {strategy("nothing", 5, 0, 5)};
    for (int i = 0; i < 12; ++i)
      all.push_back(strategy(std::to_string(i), 5 + static_cast<double>(random() % 6),
                             1 + static_cast<double>(random() % 6), 1 + static_cast<double>(random() % 9)));
    rank_strategies(all, {1, 1, 1}, 100);
    for (const Strategy& one : all) {
      const bool beaten = std::any_of(all.begin(), all.end(), [&](const Strategy& other) {
        const bool no_worse = other.rate.value >= one.rate.value && other.bytes.value <= one.bytes.value &&
                              other.preparation_seconds.value <= one.preparation_seconds.value;
        return no_worse && (other.rate.value != one.rate.value || other.bytes.value != one.bytes.value ||
                            other.preparation_seconds.value != one.preparation_seconds.value);
      });
      ASSERT_EQ(one.best_of_its_kind, !beaten) << one.name;
      ASSERT_GE(one.score, 0);
      ASSERT_LE(one.score, 1);
    }
  }
}

}  // namespace
}  // namespace forebay
