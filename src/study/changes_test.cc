#include "study/changes.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "forebay/pipeline.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/op_spec.h"
#include "runtime/host.h"
#include "study/study_test_support.h"

namespace forebay {
namespace {

std::vector<std::string> names(const std::vector<Change>& changes) {
  std::vector<std::string> names;
  for (const Change& change : changes) names.push_back(change.name);
  return names;
}

std::vector<std::string> changes_of(const Pipeline& pipeline, Limit limit, const LoaderOptions& options = {}) {
  std::vector<std::string> others;
  return names(changes_for(pipeline.description(), options, {limit, 0.9, {}}, {}, others));
}

using Names = std::vector<std::string>;

TEST(Changes, ATrainerThatNeverWaitsNeedsNoChange) { EXPECT_EQ(changes_of(pictures(), Limit::kTrainer), Names()); }

TEST(Changes, CachesStandBehindWorkAndBeforeRandomness) {
  EXPECT_EQ(changes_of(pictures(), Limit::kCompute),
            (Names{"put .cache() behind resize", "put .cache() behind decode_image", "put .cache() behind images"}));
  // If storage is the limit, a cache of the stored bytes is tried before the places in between.
  EXPECT_EQ(changes_of(pictures(), Limit::kStorage),
            (Names{"put .cache() behind resize", "put .cache() behind images", "put .cache() behind decode_image"}));
}

TEST(Changes, InFrontOfAFunctionThatIsNearlyAllThatIsWaitedForNoneIsTried) {
  const auto nothing = [](Sample&) { return Status(); };
  const Pipeline pipeline = images("/photos").decode_image().map(nothing, {.version = "1"}).batch(8);
  const auto with_share = [&](double share) {
    std::vector<std::string> others;
    return names(changes_for(pipeline.description(), {}, {Limit::kUserCode, share, {}}, {}, others));
  };
  EXPECT_EQ(with_share(0.95), Names{"put .cache() behind map"});
  EXPECT_EQ(with_share(0.5).size(), 3u);
}

TEST(Changes, OneCacheIsEnoughWhichIsTriedFull) {
  const Pipeline cached =
      images("/photos").decode_image().cache({.ram = uint64_t{5}, .dir = "/kept"}).random_flip().batch(8);
  std::vector<std::string> others;
  const auto changes = changes_for(cached.description(), {}, {Limit::kCompute, 1, {}}, {}, others);
  ASSERT_EQ(names(changes), Names{"let .cache() be filled"});
  const auto cache_of = [](const Changed& changed) {
    const OpSpec* const cache = find_step(changed.description, OpEffect::kCaching);
    return cache == nullptr ? Json() : cache->args;
  };
  const Changed few = with_subset(cached.description(), changes.front(), 32, {{"ram", 1000}, {"disk", 0}});
  EXPECT_EQ(cache_of(few), (Json{{"ram", 1000}, {"disk", 0}}));
  EXPECT_EQ(few.steps.places, (std::vector<size_t>{0, 2, 3, 4, 5})) << "a take() stands behind the source";
  EXPECT_EQ(cache_of(with(cached.description(), changes.front())), cache_of({cached.description(), {}}));
  EXPECT_EQ(cache_of(with_cache_of(cached.description(), 77))["disk"], 77);
  EXPECT_EQ(cache_of(with_cache_of(cached.description(), 77))["dir"], "/kept");
  const Pipeline in_memory = images("/photos").cache({.disk = uint64_t{0}}).batch(8);
  EXPECT_EQ(cache_of(with_cache_of(in_memory.description(), 77)), (Json{{"ram", 77}, {"disk", 0}, {"peers", "auto"}}));
  const Changed none = without_caches(cached.description());
  EXPECT_TRUE(cache_of(none).is_null());
  EXPECT_EQ(none.steps.places, (std::vector<size_t>{0, 1, 1, 2, 3}));
}

TEST(Changes, UserSettingsThatAreTheLimitAreReset) {
  LoaderOptions options;
  options.resources.requests = 2;
  options.resources.memory = 1 << 20;
  options.resources.threads = 1;
  const auto first = [&](Limit limit) { return changes_of(pictures(), limit, options).front(); };
  EXPECT_EQ(first(Limit::kRequests), "requests=\"auto\"");
  EXPECT_EQ(first(Limit::kStorage), "requests=\"auto\"");
  EXPECT_EQ(first(Limit::kMemory), "memory=\"auto\"");
  // Too little memory shows as another limit, so memory= is always tried.
  const Names all = changes_of(pictures(), Limit::kStorage, options);
  EXPECT_NE(std::find(all.begin(), all.end(), "memory=\"auto\""), all.end());
  if (usable_cores() > 1) {
    EXPECT_EQ(first(Limit::kCompute), "threads=" + std::to_string(usable_cores()));
  }
}

TEST(Changes, StepsKeepTrackOfTheirNewIndices) {
  const Description description = pictures().description();
  const Change change{.name = "", .cache_behind = 3, .options = {}};
  const Changed as_written = with(description, change);
  EXPECT_EQ(as_written.steps.places, (std::vector<size_t>{0, 1, 2, 3, 5, 6}));
  const Changed tried = with_subset(description, change, 100, {{"ram", 1 << 20}, {"disk", 0}});
  EXPECT_EQ(tried.steps.places, (std::vector<size_t>{0, 2, 3, 4, 6, 7}));
  for (size_t i = 0; i < description.steps().size(); ++i) {
    EXPECT_EQ(as_written.description.steps()[as_written.steps.places[i]].name, description.steps()[i].name);
    EXPECT_EQ(tried.description.steps()[tried.steps.places[i]].name, description.steps()[i].name);
  }
  EXPECT_EQ(tried.description.steps()[1].args["n"], 100);
  EXPECT_EQ(tried.description.steps()[5].args["disk"], 0);
}

TEST(Changes, FunctionsAreTriedInProcessesWhereTheFaceCanDoThat) {
  std::vector<std::string> others;
  const Description description = pictures().description();
  const Limiter user_code{Limit::kUserCode, 0.9, {}};
  const std::vector<Change> changes = changes_for(description, {}, user_code, {.can_move = true}, others);
  EXPECT_TRUE(changes.front().processes);
  EXPECT_TRUE(with(description, changes.front()).steps.processes);
  EXPECT_EQ(with(description, changes.front()).description.steps().size(), description.steps().size());
  for (const Change& change : changes_for(description, {}, user_code, {}, others)) EXPECT_FALSE(change.processes);
  for (const Change& change : changes_for(description, {}, {Limit::kCompute, 0.9, {}}, {.can_move = true}, others))
    EXPECT_FALSE(change.processes);
}

TEST(Changes, MoreCallsOfAFunctionAreTriedWhereThreadsRunIt) {
  const Description description = pictures().description();
  const auto threads = [&](Limit limit, bool on_threads, LoaderOptions options = {}) {
    std::vector<std::string> others;
    std::vector<int> tried;
    for (const Change& change : changes_for(description, options, {limit, 0.5, {}}, {.on_threads = on_threads}, others))
      if (change.options.resources.threads != options.resources.threads)
        tried.push_back(*change.options.resources.threads);
    return tried;
  };
  EXPECT_EQ(threads(Limit::kUserCode, true).size(), 2u);
  LoaderOptions said;
  said.resources.threads = 8;
  EXPECT_EQ(threads(Limit::kUserCode, true, said), (std::vector<int>{64, 256}));
  said.resources.threads = 100;
  EXPECT_EQ(threads(Limit::kUserCode, true, said), (std::vector<int>{256, 1024}));
  said.resources.threads = 1024;
  EXPECT_TRUE(threads(Limit::kUserCode, true, said).empty());
  EXPECT_TRUE(threads(Limit::kUserCode, false).empty()) << "each would be a process";
  EXPECT_TRUE(threads(Limit::kStorage, true).empty());
}

// Every combination: the function with and without a version, its share of the wait, and steps
// after it.
TEST(Changes, BehindAFunctionWithoutAVersionACacheIsTriedInMemoryAndTheVersionIsTold) {
  const auto nothing = [](Sample&) { return Status(); };
  for (const bool versioned : {false, true})
    for (const double share : {0.3, 0.95})
      for (const Limit limit : {Limit::kUserCode, Limit::kCompute, Limit::kStorage}) {
        const MapOptions options{.version = versioned ? "1" : ""};
        const Pipeline pipeline = images("/photos").decode_image().map(nothing, options).resize(8).batch(8);
        std::vector<std::string> others;
        const auto changes = changes_for(pipeline.description(), {}, {limit, share, {}}, {}, others);
        const Names tried = names(changes);
        const std::string behind = versioned ? "put .cache() behind " : "put .cache(disk=0) behind ";
        for (const char* step : {"map", "resize"})
          EXPECT_NE(std::ranges::find(tried, behind + step), tried.end()) << behind << step;
        const bool told = std::ranges::any_of(
            others, [](const std::string& other) { return other.find("version=\"1\"") != std::string::npos; });
        EXPECT_EQ(told, !versioned);
        for (const Change& change : changes) {
          const Description changed = with(pipeline.description(), change).description;
          EXPECT_EQ(find_step(changed, OpEffect::kCaching)->args.contains("disk"), change.in_memory) << change.name;
        }
      }
}

TEST(Changes, WithoutAChangeTheDescriptionIsTheSame) {
  const Description description = pictures().description();
  EXPECT_EQ(*with(description, {}).description.to_json(), *description.to_json());
}

}  // namespace
}  // namespace forebay
