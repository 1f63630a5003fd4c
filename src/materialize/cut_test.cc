#include "materialize/cut.h"

#include <gtest/gtest.h>

#include "loader/describe/materialized_steps.h"
#include "pipeline/op_spec.h"
#include "study/study_test_support.h"

namespace forebay {
namespace {

std::vector<std::string> names_of(const Description& description) {
  std::vector<std::string> names;
  for (const OpSpec& step : description.steps()) names.push_back(step.name);
  return names;
}

using Names = std::vector<std::string>;

MaterializeOptions cut_behind(const std::string& name) {
  MaterializeOptions options;
  options.cut = name;
  return options;
}

TEST(Cut, StandsBehindWhatGivesTheSameEachEpoch) {
  const Pipeline pipeline = pictures();  // images, shuffle, decode_image, resize, random_flip, batch
  EXPECT_EQ(*find_cut(pipeline.description(), cut_behind("last"), {}), 3U);
  EXPECT_EQ(*find_cut(pipeline.description(), cut_behind("decode_image"), {}), 2U);
  EXPECT_EQ(*find_cut(pipeline.description(), cut_behind("images"), {}), 0U);
  for (const char* name : {"random_flip", "batch", "shuffle", "nothing", ""}) {
    const Status none = find_cut(pipeline.description(), cut_behind(name), {}).status();
    EXPECT_EQ(none.code(), Code::kInvalidArgument) << name;
    EXPECT_NE(none.to_string().find("decode_image, resize"), std::string::npos) << none.to_string();
  }
}

TEST(Cut, OfARepeatedNameItIsTheLastStep) {
  const Pipeline twice = numbers(4).cast("float64", {.field = {"x"}}).cast("float32", {.field = {"x"}}).batch(2);
  EXPECT_EQ(*find_cut(twice.description(), cut_behind("cast"), {}), 2U);
}

TEST(Cut, BestResumesTheCutOfBegunData) {
  const Description description = pictures().description();
  for (const size_t cut : {0, 2, 3}) {
    const std::string begun = steps_before(description, cut).steps;
    EXPECT_EQ(*find_cut(description, cut_behind("best"), begun), cut)
        << "and nothing is measured, for there are no pictures";
  }
}

TEST(Cut, StepsBeforeItAreThoseThatComputeValues) {
  const Pipeline pipeline =
      images("/p").shuffle().cache({.ram = uint64_t{1}}).decode_image().resize(8).random_flip().batch(2);
  const Changed before = before_cut(pipeline.description(), 4, 16);
  EXPECT_EQ(names_of(before.description), (Names{"images", "decode_image", "resize", "batch"}));
  EXPECT_EQ(before.steps.places, (std::vector<size_t>{0, SIZE_MAX, SIZE_MAX, 1, 2, SIZE_MAX, SIZE_MAX}));
  EXPECT_EQ(names_of(before_cut(pipeline.description(), 0, 16, {}, 5).description),
            (Names{"images", "take", "cache", "batch"}));
}

TEST(Cut, ASourceThatIsOpenIsAskedForNoVersions) {
  Tensor numbers = Tensor::allocate(DType::kInt64, Shape{10});
  const auto loader = Loader::open(arrays({{"x", {numbers, ""}}}).batch(2), {});
  ASSERT_TRUE(loader.ok()) << loader.status().to_string();
  const Pipeline open = (*loader)->opened().batch(2);
  EXPECT_EQ(names_of(before_cut(open.description(), 0, 16, {}, 5).description), (Names{"arrays", "take", "batch"}));
}

TEST(Cut, AfterItTheOrderStaysAndEarlierCachesAreDropped) {
  const Pipeline pipeline =
      images("/p").shuffle().cache({.ram = uint64_t{1}}).decode_image().resize(8).random_flip().batch(2);
  const Changed behind = pipeline_after_cut(pipeline.description(), 4, "/made");
  EXPECT_EQ(names_of(behind.description), (Names{"materialized", "shuffle", "random_flip", "batch"}));
  EXPECT_EQ(behind.steps.places, (std::vector<size_t>{SIZE_MAX, 1, SIZE_MAX, SIZE_MAX, SIZE_MAX, 2, 3}));
}

TEST(Cut, SelectionsBeforeItAreRefused) {
  const Pipeline taken = numbers(9).take(3).cast("float64", {.field = {"x"}}).batch(2);
  EXPECT_TRUE(check_cut(taken.description(), 0).ok());
  EXPECT_EQ(check_cut(taken.description(), 1).code(), Code::kInvalidArgument);
  EXPECT_NE(check_cut(taken.description(), 2).to_string().find("1: take"), std::string::npos);
}

TEST(MaterializedSteps, LeaveOutPasswords) {
  const Pipeline secret = images("https://user:pass@host/p").decode_image().batch(2);
  const std::string steps = steps_before(secret.description(), 1).steps;
  EXPECT_EQ(steps.find("pass"), std::string::npos) << steps;
  EXPECT_FALSE(original_source(steps));
  const std::string plain = steps_before(images("/p").decode_image().batch(2).description(), 1).steps;
  ASSERT_TRUE(original_source(plain));
  EXPECT_EQ(original_source(plain)->args.value("root", Json()), Json("/p"));
  for (const char* text : {"", "[]", "{}", "[1]", "null"}) EXPECT_FALSE(original_source(text)) << text;
}

TEST(MaterializedSteps, AreTheSameWhereverTheSourceLies) {
  const auto steps = [](const Pipeline& pipeline) { return steps_before(pipeline.description(), 1).steps; };
  const std::string one = steps(files("/a/*").select({"key"}).batch(2));
  EXPECT_TRUE(same_but_source(one, one));
  EXPECT_TRUE(same_but_source(one, steps(files("/b/*").select({"key"}).batch(2))));
  EXPECT_FALSE(same_but_source(one, steps(files("/a/*").select({"bytes"}).batch(2))));
  EXPECT_FALSE(same_but_source(one, steps(images("/a").select({"key"}).batch(2))));
  EXPECT_FALSE(same_but_source("", "") || same_but_source("[]", "[]"));
}

}  // namespace
}  // namespace forebay
