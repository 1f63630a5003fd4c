#include "pipeline/cache_rules.h"

#include <gtest/gtest.h>

#include "pipeline/catalog.h"
#include "pipeline/operator.h"

namespace forebay {
namespace {

Catalog catalog() {
  OpDef crop, resize, map, cache, filter, pack;
  crop.name = "random_crop";
  crop.random = true;
  resize.name = "resize";
  map.name = "map";
  map.role = OpRole::kFunction;
  map.args = {{"random", ArgType::kBool, false, false, "", ArgForm::kPlain, ArgUse::kRandom},
              {"version", ArgType::kText, false, nullptr, "", ArgForm::kPlain, ArgUse::kVersion}};
  cache.name = "cache";
  cache.effect = OpEffect::kCaching;
  cache.args = {{"disk", ArgType::kBytes, false, "50GiB", "", ArgForm::kPlain, ArgUse::kDiskBytes}};
  filter.name = "filter";
  filter.effect = OpEffect::kSelection;
  pack.name = "pack";
  pack.effect = OpEffect::kPacking;
  cache.freezes = filter.freezes = pack.freezes = true;
  return Catalog({crop, resize, map, cache, filter, pack});
}

std::vector<Problem> problems(std::vector<OpSpec> steps) {
  steps.insert(steps.begin(), {"images", {{"root", "photos"}}, nullptr, ""});
  steps.push_back({"cache", {}, nullptr, ""});
  return cache_problems(steps, steps.size() - 1, catalog());
}

TEST(CacheRules, ACacheBehindWhatIsTheSameInEachEpochIsRight) {
  EXPECT_TRUE(problems({}).empty());
  EXPECT_TRUE(problems({{"shuffle", {}, nullptr, ""}, {"resize", {}, nullptr, ""}}).empty());
}

TEST(CacheRules, BehindARandomStepItIsRefusedAndToldWhereToGo) {
  const auto found = problems({{"resize", {}, nullptr, ""}, {"random_crop", {}, nullptr, ""}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].op, "3: cache");
  EXPECT_NE(found[0].message.find("2: random_crop"), std::string::npos);
  EXPECT_EQ(found[0].remedy, "put .cache() before 2: random_crop");
}

TEST(CacheRules, ACacheOfAPartOfAZipGoesByTheStepsOfThatPart) {
  const auto in = [](std::string name, std::string part) {
    OpSpec op{std::move(name), Json::object(), nullptr, ""};
    op.part = std::move(part);
    return op;
  };
  const auto found = [&](const std::string& part) {
    const std::vector<OpSpec> steps = {in("zip", ""), in("random_crop", "a"), in("map", "a"), in("cache", "a"),
                                       in("cache", part)};
    return cache_problems(steps, 4, catalog());
  };
  EXPECT_TRUE(found("b").empty());
  EXPECT_EQ(found("a").size(), 3u) << "random, without a version, and a second one";
  EXPECT_EQ(found("").size(), 3u) << "behind the zip";
}

TEST(CacheRules, EntriesWithTheFieldsOfAllPartsGoByTheStepsOfAllPartsBeforeThem) {
  const auto found = [&](const char* name, const Json& args, const std::string& part, const Json& disk = 0) {
    std::vector<OpSpec> steps = {{"zip", Json::object(), nullptr, ""},
                                 {name, args, nullptr, ""},
                                 {"cache", {{"disk", disk}}, nullptr, ""},
                                 {"random_crop", Json::object(), nullptr, ""}};
    steps[1].part = part;
    steps[2].part = "b";
    steps[3].part = "c";
    const auto problem = shared_entries_problem(steps, 2, catalog());
    return problem ? problem->message : "";
  };
  EXPECT_NE(found("random_crop", Json::object(), "a").find("draws anew in every epoch"), std::string::npos);
  EXPECT_NE(found("map", {{"random", true}}, "a").find("draws anew in every epoch"), std::string::npos);
  EXPECT_NE(found("map", {{"epoch", true}}, "a").find("follows the epoch"), std::string::npos);
  EXPECT_NE(found("map", Json::object(), "a", "1GiB").find("a later run could not tell"), std::string::npos);
  EXPECT_EQ(found("map", {{"version", "1"}}, "a", "1GiB"), "");
  EXPECT_EQ(found("map", Json::object(), "a"), "") << "in memory";
  EXPECT_EQ(found("resize", Json::object(), "a"), "");
  EXPECT_EQ(found("random_crop", Json::object(), "b"), "") << "cache_problems() has told it";
}

TEST(CacheRules, AFunctionWithAGeneratorIsARandomStep) {
  const auto found = problems({{"map", {{"random", true}, {"version", "1"}}, nullptr, "<f>"}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].message.find("draws anew in every epoch"), std::string::npos);
}

TEST(CacheRules, ADiskCacheBehindAFunctionNeedsItsVersion) {
  EXPECT_EQ(problems({{"map", {}, nullptr, "<f>"}}).size(), 1u);
  EXPECT_TRUE(problems({{"map", {{"version", "7"}}, nullptr, "<f>"}}).empty());
  for (const Json& none : {Json(0), Json("0"), Json("0GiB")}) {
    const std::vector<OpSpec> steps = {
        {"images", {}, nullptr, ""}, {"map", {}, nullptr, "<f>"}, {"cache", {{"disk", none}}, nullptr, ""}};
    EXPECT_TRUE(cache_problems(steps, 2, catalog()).empty()) << none;
  }
}

TEST(CacheRules, ACacheDirectlyBehindAnotherIsRefused) {
  EXPECT_EQ(problems({{"cache", {}, nullptr, ""}}).size(), 1u);
  EXPECT_TRUE(problems({{"cache", {}, nullptr, ""}, {"resize", {}, nullptr, ""}}).empty());
}

TEST(CacheRules, NothingThatIsDecidedOnceMayStandBehindWhatFollowsTheEpoch) {
  const OpSpec images{"images", {}, nullptr, ""}, map{"map", {{"epoch", true}, {"version", "1"}}, nullptr, "<f>"},
      dataset{"dataset", {{"size", 3}, {"epoch", true}}, nullptr, "<d>"};
  for (const char* name : {"cache", "filter", "pack"}) {
    const OpSpec step{name, {}, nullptr, ""};
    const auto behind_map = epoch_problem({images, map, step}, 2, catalog());
    ASSERT_TRUE(behind_map) << name;
    EXPECT_NE(behind_map->remedy.find("before 1: map"), std::string::npos) << behind_map->remedy;
    const auto behind_dataset = epoch_problem({dataset, step}, 1, catalog());
    ASSERT_TRUE(behind_dataset) << name;
    EXPECT_NE(behind_dataset->remedy.find("epoch=False"), std::string::npos) << behind_dataset->remedy;
    EXPECT_FALSE(epoch_problem({images, step, map}, 1, catalog()));
  }
  EXPECT_FALSE(epoch_problem({images, map, {"batch", {}, nullptr, ""}}, 2, catalog()));
}

TEST(CacheRules, OtherStepsAreNotJudged) {
  EXPECT_TRUE(cache_problems({{"images", {}, nullptr, ""}, {"random_crop", {}, nullptr, ""}}, 1, catalog()).empty());
}

}  // namespace
}  // namespace forebay
