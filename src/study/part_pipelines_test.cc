#include "study/part_pipelines.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "loader/describe/check.h"
#include "study/changes.h"
#include "study/part_costs.h"
#include "study/study_test_support.h"

namespace forebay {
namespace {

using Parts = std::vector<std::pair<std::string, Pipeline>>;

// Numbers: 0 arrays, 1 shuffle (a); 2 arrays (b); 3 concat, 4 repeat (inner); 5 arrays, 6 map (c);
// 7 mix, 8 map, 9 batch.
Pipeline tree() {
  const auto nothing = [](Sample&) { return Status(); };
  const Pipeline inner = concat(Parts{{"a", numbers(8).shuffle()}, {"b", numbers(4)}}).repeat(2);
  return mix({{"inner", inner}, {"c", numbers(4).map(nothing, {.version = "1"})}}, {.field = "part"})
      .map(nothing, {.version = "2"})
      .batch(2);
}

std::string names_of(const Description& description) {
  std::string names;
  for (const OpSpec& step : description.steps()) names += (names.empty() ? "" : " ") + step.name;
  return names;
}

TEST(PartPipelines, EachPartCanBeOpenedWithTheStepsBehindIt) {
  const Pipeline whole = tree();
  const std::vector<PartPipeline> parts = part_pipelines(whole.description());
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].name, "inner/a");
  EXPECT_EQ(names_of(parts[0].alone.description), "arrays shuffle part_number map batch");
  EXPECT_EQ(parts[0].alone.steps.places, (std::vector<size_t>{0, 1, kGone, kGone, kGone, kGone, kGone, kGone, 3, 4}));
  EXPECT_EQ(parts[1].source, 2u);
  EXPECT_EQ(parts[2].name, "c");
  EXPECT_EQ(names_of(parts[2].alone.description), "arrays map part_number map batch");
  EXPECT_TRUE(parts[2].has(6) && parts[2].has(8) && !parts[2].has(4));
  for (const PartPipeline& part : parts) EXPECT_TRUE(check(part.alone.description).empty()) << part.name;
}

TEST(PartPipelines, OneDataSetIsItsOwnPart) {
  const Pipeline whole = pictures();
  const std::vector<PartPipeline> parts = part_pipelines(whole.description());
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(*parts[0].alone.description.to_json(), *whole.description().to_json());
  EXPECT_EQ(parts[0].alone.steps.places, (std::vector<size_t>{0, 1, 2, 3, 4, 5}));
}

TEST(PartPipelines, StepsOfAZipAreNumberedBeforeIt) {
  const Pipeline whole =
      zip({{"a", numbers(4).cast("float64")}, {"b", numbers(4).rename({{std::string("x"), "y"}})}}).batch(2);
  const std::vector<PartPipeline> parts = part_pipelines(whole.description());
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].source, 4u);
  EXPECT_EQ(parts[0].alone.steps.places, (std::vector<size_t>{0, 1, 2, 3, 4, 5}));
  const std::vector<NumberedStep> steps = numbered_steps(whole.description());
  EXPECT_EQ(steps[1].name(), "a/cast");
  EXPECT_TRUE(steps[1].in_zip && !steps[4].in_zip && steps[4].is_source);
}

TEST(PartPipelines, StepsKeepTheirPlacesThroughAChange) {
  const Pipeline whole = tree();
  const Changed cached = with(whole.description(), {.name = {}, .cache_behind = 6, .options = {}});
  EXPECT_EQ(cached.steps.places, (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 8, 9, 10}));
  const std::vector<NumberedStep> steps = numbered_steps(cached.description);
  EXPECT_EQ(steps[7].name(), "c/cache");
  EXPECT_TRUE(check(cached.description).empty());
  EXPECT_TRUE(has_cache(cached.description));
  const Changed without = without_caches(cached.description);
  EXPECT_EQ(without.description.to_string(), without_caches(whole.description()).description.to_string());
  EXPECT_EQ(composed(cached.steps, without.steps).places, (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(PartPipelines, PartsThatFollowEachOtherAreMixedForAMeasurement) {
  const Pipeline whole = tree();
  const Description mixed = with_mixed_parts(whole.description());
  EXPECT_EQ(mixed.steps().front().parts.front().pipeline.steps().front().name, "mix");
  EXPECT_TRUE(check(mixed).empty());
}

TEST(PartPipelines, CachesAreTriedWhereTheTimeGoes) {
  const auto nothing = [](Sample&) { return Status(); };
  const auto part = [&](int64_t count) { return numbers(count).map(nothing, {.version = "1"}); };
  const Pipeline whole = mix({{"slow", part(8)}, {"fast", part(8)}}).map(nothing, {.version = "2"}).batch(2);
  const auto tried = [&](const std::vector<PartCost>& costs, Limit limit) {
    std::vector<std::string> names, others;
    for (const Change& change : changes_for(whole.description(), {}, {limit, 0.5, {}}, {}, others, costs))
      names.push_back(change.name);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(tried({{"slow", 0.5, 10.0, 0.97}, {"fast", 0.5, 300.0, 0.03}}, Limit::kCompute),
            (Names{"put .cache() behind map", "put .cache() behind slow/map", "put .cache() behind slow/arrays"}));
  EXPECT_EQ(tried({{"fast", 0.5, 10.0, 0.6}, {"slow", 0.5, 300.0, 0.4}}, Limit::kCompute).size(), 5u);
}

TEST(PartCosts, ThePartThatTakesTheTimeIsTheFirst) {
  std::vector<PartCost> parts = {{"fast", 0.75, 300.0}, {"slow", 0.25, 10.0}, {"rare", 0, {}}};
  rank_parts(parts);
  EXPECT_EQ(parts[0].name, "slow");
  EXPECT_DOUBLE_EQ(parts[0].time_share, 0.025 / 0.0275);
  EXPECT_EQ(parts[2].name, "rare");
  EXPECT_DOUBLE_EQ(mixed_rate_of(parts), 1 / 0.0275);
  const std::string text = parts_text(parts);
  EXPECT_NE(text.find("The part 'slow' costs the most: 91 % of the time, for 25 % of the samples"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("rare"), std::string::npos) << "it was not measured";
}

TEST(PartCosts, SharesAreThoseOfThePlan) {
  const auto shares = [](const Pipeline& pipeline) {
    auto loader = Loader::open(pipeline);
    EXPECT_TRUE(loader.ok() && (*loader)->prepare().ok());
    return *shares_of_parts(**loader, 2);
  };
  const auto weighted =
      shares(mix({{"a", numbers(30'720)}, {"b", numbers(10'240)}}, {.weights = {{"a", 3}, {"b", 1}}}).batch(8));
  EXPECT_NEAR(weighted[0], 0.75, 1.0 / 1024);
  const auto once = shares(mix({{"a", numbers(300)}, {"b", numbers(100)}}).batch(8));
  EXPECT_DOUBLE_EQ(once[0], 0.75);
}

}  // namespace
}  // namespace forebay
