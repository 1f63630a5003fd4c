#include "pipeline/description.h"

#include <gtest/gtest.h>

#include "pipeline/catalog.h"

namespace forebay {
namespace {

Description example() {
  return Description({"images", {{"root", "photos/train"}}, nullptr, ""})
      .append({"shuffle", Json::object(), nullptr, ""})
      .append({"random_resized_crop", {{"n", 224}, {"scale", {0.08, 1.0}}}, nullptr, ""})
      .append({"batch", {{"n", 64}, {"last", "drop"}}, nullptr, ""});
}

Catalog roles() {
  OpDef batch, cache;
  batch.name = "batch";
  batch.effect = OpEffect::kBatching;
  cache.name = "cache";
  cache.effect = OpEffect::kCaching;
  return Catalog({batch, cache});
}

TEST(Description, append_leaves_the_original_alone) {
  const Description before = example();
  const Description after = before.append({"take", {{"n", 1}}, nullptr, ""});
  EXPECT_EQ(before.steps().size(), 4u);
  EXPECT_EQ(after.steps().size(), 5u);
}

TEST(Description, reads_like_what_was_typed) {
  EXPECT_EQ(example().to_string(),
            "images(root=\"photos/train\")\n  .shuffle()\n  .random_resized_crop(n=224, scale=[0.08,1.0])\n  "
            ".batch(n=64, last=\"drop\")");
}

TEST(Description, json_goes_both_ways) {
  const Result<std::string> json = example().to_json();
  ASSERT_TRUE(json.ok());
  const Result<Description> read = Description::from_json(*json);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->to_string(), example().to_string());
  EXPECT_EQ(read->fingerprint(roles()), example().fingerprint(roles()));
  EXPECT_EQ(*read->to_json(), *json);
}

TEST(Description, user_code_cannot_be_saved_and_the_step_is_named) {
  const Status status = example().append({"map", Json::object(), nullptr, "<function augment>"}).to_json().status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("<function augment>"), std::string::npos);
}

TEST(Description, names_that_json_cannot_hold_are_refused) {
  EXPECT_EQ(Description({"images", {{"root", "photos/\xff"}}, nullptr, ""}).to_json().status().code(),
            Code::kInvalidArgument);
}

TEST(Description, garbage_is_refused) {
  const std::string deep(100'000, '['), closed = deep + std::string(100'000, ']');
  for (const std::string& text : std::vector<std::string>{
           "", "{", "null", "[]", "{}", "42", R"({"forebay_pipeline": 1})", R"({"forebay_pipeline": 1, "steps": {}})",
           R"({"forebay_pipeline": 1, "steps": []})", R"({"forebay_pipeline": 1, "steps": [1]})",
           R"({"forebay_pipeline": 1, "steps": [{"op": 3}]})",
           R"({"forebay_pipeline": 1, "steps": [{"name": "images"}]})",
           R"({"forebay_pipeline": 2, "steps": [{"op": "images"}]})",
           R"({"forebay_pipeline": "1", "steps": [{"op": "images"}]})", deep, closed,
           R"({"forebay_pipeline": 1, "steps": [{"op": "images", "root": )" + closed + "}]}"}) {
    const Result<Description> read = Description::from_json(text);
    EXPECT_FALSE(read.ok()) << text.substr(0, 100);
    EXPECT_FALSE(read.status().message().empty());
  }
}

TEST(Description, fingerprint_is_of_all_but_batch_caches_and_place) {
  const Hash128 fingerprint = example().fingerprint(roles());
  const auto same = [&](const Description& other) { return other.fingerprint(roles()) == fingerprint; };
  const auto rebuilt = [](size_t changed, OpSpec op) {
    const Description original = example();
    Description result;
    for (size_t i = 0; i < original.steps().size(); ++i) {
      const OpSpec& step = i == changed ? op : original.steps()[i];
      result = i == 0 ? Description(step) : result.append(step);
    }
    return result;
  };
  EXPECT_TRUE(same(rebuilt(3, {"batch", {{"n", 8}}, nullptr, ""}))) << "another batch size";
  EXPECT_TRUE(same(rebuilt(0, {"images", {{"root", "elsewhere"}}, nullptr, ""}))) << "moved";
  EXPECT_TRUE(same(example().append({"cache", {{"ram", "2GiB"}}, nullptr, ""})));
  EXPECT_FALSE(same(rebuilt(2, {"random_resized_crop", {{"n", 225}, {"scale", {0.08, 1.0}}}, nullptr, ""})));
  EXPECT_FALSE(same(rebuilt(1, {"take", {{"n", 5}}, nullptr, ""})));
  EXPECT_FALSE(same(rebuilt(0, {"files", {{"root", "photos/train"}}, nullptr, ""})));
  EXPECT_FALSE(same(example().append({"map", Json::object(), nullptr, "<function f>"})));
  EXPECT_FALSE(example().append({"map", Json::object(), nullptr, "<f>"}).fingerprint(roles()) ==
               example().append({"map", Json::object(), nullptr, "<g>"}).fingerprint(roles()));
}

TEST(Description, field_lists) {
  EXPECT_EQ(field_list("image"), std::vector<std::string>{"image"});
  EXPECT_EQ(field_list(Json({"a", "b"})), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(field_list(nullptr), std::vector<std::string>());
  EXPECT_EQ(field_list(3), std::vector<std::string>());
}

}  // namespace
}  // namespace forebay
